SELECT coalesce(turn, id) FROM selected WHERE kind = 'turn' ORDER BY ended_unix_ns DESC, id DESC LIMIT 1
