-- Exchanges that a loss line names and that were recorded after all.
CREATE OR REPLACE TEMP TABLE found AS SELECT lost.id FROM lost SEMI JOIN stored USING (id)
