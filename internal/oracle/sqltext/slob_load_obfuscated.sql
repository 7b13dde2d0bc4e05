/* nfsbench slob_load_obfuscated */
-- releases: all
-- One piece of a table: so many rows, with keys from the first in equal steps, in no order.
-- The columns are hashes of key and seed, which storage cannot deduplicate.
BEGIN
    INSERT /*+ APPEND */ INTO {{.Schema}}.{{.Table}} (
        custid, c2, c3, c4, c5, c6, c7, c8, c9, c10,
        c11, c12, c13, c14, c15, c16, c17, c18, c19, c20
    )
    SELECT
        g.custid,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-2', 'SHA512')) AS c2,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-3', 'SHA512')) AS c3,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-4', 'SHA512')) AS c4,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-5', 'SHA512')) AS c5,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-6', 'SHA512')) AS c6,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-7', 'SHA512')) AS c7,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-8', 'SHA512')) AS c8,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-9', 'SHA512')) AS c9,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-10', 'SHA512')) AS c10,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-11', 'SHA512')) AS c11,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-12', 'SHA512')) AS c12,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-13', 'SHA512')) AS c13,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-14', 'SHA512')) AS c14,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-15', 'SHA512')) AS c15,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-16', 'SHA512')) AS c16,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-17', 'SHA512')) AS c17,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-18', 'SHA512')) AS c18,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-19', 'SHA512')) AS c19,
        RAWTOHEX(STANDARD_HASH(g.seed || '-' || g.custid || '-20', 'SHA512')) AS c20
    FROM (
        SELECT
            b.first_key + (LEVEL - 1) * b.key_step AS custid,
            b.seed
        FROM (
            SELECT
                TO_NUMBER(:1) AS first_key,
                TO_NUMBER(:2) AS key_step,
                TO_NUMBER(:3) AS seed
            FROM dual
        ) b
        CONNECT BY LEVEL <= :4
    ) g
    ORDER BY ORA_HASH(g.custid, 4294967295, g.seed);
    COMMIT;
END;
