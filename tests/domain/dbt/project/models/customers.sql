select 1 as id, 'ann' as name
union all select 2, 'bob'
