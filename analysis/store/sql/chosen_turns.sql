SELECT count(*) FROM chosen WHERE is_turn
