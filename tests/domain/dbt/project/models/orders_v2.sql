select 1 as id, 1 as customer, cast(9.5 as decimal(10, 2)) as total, 'open' as status
union all select 2, 2, 4.25, 'paid'
