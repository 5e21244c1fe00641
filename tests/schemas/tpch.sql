-- TPC-H, revision 3, clause 1.4: eight tables with their keys. Of the rows, only as many nations, regions and suppliers
-- as there are at scale 0.1 (clause 4.2).
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
CREATE TABLE nation (
    n_nationkey int PRIMARY KEY, n_name varchar(25) NOT NULL, n_regionkey int NOT NULL REFERENCES region,
    n_comment varchar(152));
CREATE TABLE supplier (
    s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
    s_nationkey int NOT NULL REFERENCES nation, s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL,
    s_comment varchar(101) NOT NULL);
CREATE TABLE part (
    p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
    p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL,
    p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL);
CREATE TABLE partsupp (
    ps_partkey int NOT NULL REFERENCES part, ps_suppkey int NOT NULL REFERENCES supplier, ps_availqty int NOT NULL,
    ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE customer (
    c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey int NOT NULL REFERENCES nation, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL,
    c_mktsegment varchar(10) NOT NULL, c_comment varchar(117) NOT NULL);
CREATE TABLE orders (
    o_orderkey bigint PRIMARY KEY, o_custkey int NOT NULL REFERENCES customer, o_orderstatus varchar(1) NOT NULL,
    o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority varchar(15) NOT NULL,
    o_clerk varchar(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL REFERENCES orders, l_partkey int NOT NULL REFERENCES part,
    l_suppkey int NOT NULL REFERENCES supplier, l_linenumber int NOT NULL, l_quantity numeric(15,2) NOT NULL,
    l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL,
    l_returnflag varchar(1) NOT NULL, l_linestatus varchar(1) NOT NULL, l_shipdate date NOT NULL,
    l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct varchar(25) NOT NULL,
    l_shipmode varchar(10) NOT NULL, l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber),
    FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp);
INSERT INTO region SELECT i, 'region ' || i, '' FROM generate_series(0, 4) i;
INSERT INTO nation SELECT i, 'nation ' || i, i % 5, '' FROM generate_series(0, 24) i;
INSERT INTO supplier SELECT i, 'supplier ' || i, 'address ' || i, i % 25, 'phone ' || i, i, '' FROM generate_series(1, 1000) i;
