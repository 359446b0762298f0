-- Why tokens had to be read anew: exchanges, and tokens where they are known.
SELECT cause, count(*), sum(greatest(lost, 0))::HUGEINT
FROM selected
WHERE cause IS NOT NULL
GROUP BY cause
ORDER BY 3 DESC NULLS LAST, cause
