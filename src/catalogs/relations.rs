//! The table of catalog relations: which columns a client sees of each, and what stands there instead of a value that
//! moves with rows, holds code, or names what the policy does not show.
//!
//! A relation that is not here has all its columns and no rows, whichever the server has; a column that is not here is
//! NULL. Objects of the server's own have OIDs below 16384 (`FirstNormalObjectId`); of all others only those are shown
//! that are among the policy's facts, by lists of their OIDs. Texts in braces are the lists, see [`super::base`].

/// A relation of `pg_catalog`, as it is shown.
pub struct Base {
    /// Name of the relation.
    pub name: &'static str,
    /// Condition of the rows of `x` that are shown.
    pub filter: &'static str,
    /// `column` as it is, or `column = text that stands there`, parted by semicolons. Columns that the server's version
    /// does not have are left out, and those that only the server has are NULL.
    pub columns: &'static str,
    /// Rows of noisegate's own relations: FROM, and columns as above. Columns that are not named
    /// are NULL.
    pub own: Option<(&'static str, &'static str)>,
}

const fn base(name: &'static str, filter: &'static str, columns: &'static str) -> Base {
    Base { name, filter, columns, own: None }
}

/// Objects of the server's own.
const BUILT_IN: &str = "x.oid < 16384";
/// Nothing but rows of ours.
const NONE: &str = "false";

/// All of them.
pub const BASES: &[Base] = &[
    Base {
        name: "pg_namespace",
        filter: "x.oid < 16384 OR x.nspname = ANY({schemas})",
        columns: "oid; nspname; nspowner = 10; nspacl = NULL",
        own: Some(("(SELECT {own_schema}::pg_catalog.oid) AS o(oid)", "oid = o.oid; nspname = 'noisegate'; nspowner = 10")),
    },
    Base {
        name: "pg_class",
        filter: "x.oid < 16384 OR x.oid = ANY({tables}) OR x.oid = ANY({indexes})",
        columns: "oid; relname; relnamespace; reltype; reloftype = 0; relowner = 10; relam; relfilenode = 0;
            reltablespace = 0; relpages = 0; reltuples = {never}; relallvisible = 0; relallfrozen = 0; reltoastrelid = 0;
            relhasindex = CASE WHEN x.oid < 16384 THEN x.relhasindex ELSE EXISTS (SELECT FROM pg_catalog.pg_index AS i
                WHERE i.indrelid = x.oid AND i.indexrelid = ANY({indexes})) END;
            relisshared; relpersistence; relkind;
            relnatts = CASE WHEN x.oid = ANY({tables})
                THEN (SELECT pg_catalog.count(*) FROM {columns} WHERE v.relid = x.oid) ELSE x.relnatts END;
            relchecks = 0; relhasrules = x.oid < 16384 AND x.relhasrules;
            relhastriggers = EXISTS (SELECT FROM pg_catalog.pg_constraint AS k WHERE k.oid = ANY({constraints})
                AND k.contype = 'f' AND x.oid IN (k.conrelid, k.confrelid)); relhassubclass = false;
            relrowsecurity = false; relforcerowsecurity = false; relispopulated = true;
            relreplident = CASE WHEN x.oid < 16384 OR x.relkind = 'i' THEN 'n' ELSE 'd' END; relispartition = false;
            relrewrite = 0; relfrozenxid = '0'; relminmxid = '0'; relacl = NULL; reloptions = NULL; relpartbound = NULL",
        own: Some((
            "{own_tables} AS o(oid, name, natts, schema)",
            "oid = o.oid; relname = o.name; relnamespace = CASE WHEN o.schema = 'noisegate' THEN {own_schema}
                ELSE (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = o.schema) END; reltype = 0; reloftype = 0; relowner = 10;
            relam = 0; relfilenode = 0; reltablespace = 0; relpages = 0; reltuples = {never}; relallvisible = 0;
            relallfrozen = 0; reltoastrelid = 0; relhasindex = false; relisshared = false; relpersistence = 'p';
            relkind = 'v'; relnatts = o.natts; relchecks = 0; relhasrules = false; relhastriggers = false;
            relhassubclass = false; relrowsecurity = false; relforcerowsecurity = false; relispopulated = true;
            relreplident = 'n'; relispartition = false; relrewrite = 0; relfrozenxid = '0'; relminmxid = '0'",
        )),
    },
    Base {
        name: "pg_attribute",
        filter: "x.attnum > 0 AND NOT x.attisdropped AND (x.attrelid < 16384 OR x.attrelid = ANY({indexes})
            OR EXISTS (SELECT FROM {columns} WHERE v.relid = x.attrelid AND v.num = x.attnum))",
        columns: "attrelid; attname; atttypid; attstattarget = {stattarget}; attlen;
            attnum = COALESCE((SELECT v.new FROM {columns} WHERE v.relid = x.attrelid AND v.num = x.attnum), x.attnum);
            attndims; attcacheoff = -1; atttypmod; attbyval; attstorage; attalign; attcompression; attnotnull;
            atthasdef = EXISTS (SELECT FROM pg_catalog.pg_attrdef AS d
                WHERE d.adrelid = x.attrelid AND d.adnum = x.attnum AND d.oid = ANY({defaults}));
            atthasmissing = false; attidentity = ''; attgenerated = ''; attisdropped = false; attislocal = true;
            attinhcount = 0; attcollation; attacl = NULL; attoptions = NULL; attfdwoptions = NULL; attmissingval = NULL",
        own: Some((
            "{own_columns} AS o(relid, num, name, type)
             JOIN pg_catalog.pg_type AS t ON t.oid::text = o.type
               OR t.oid < 16384 AND t.typname = o.type AND t.typnamespace = 11",
            "attrelid = o.relid; attname = o.name; atttypid = t.oid; attlen = t.typlen; attnum = o.num; attndims = 0;
            attcacheoff = -1; atttypmod = -1; attbyval = t.typbyval; attstorage = t.typstorage; attalign = t.typalign;
            attcompression = ''; attnotnull = false; atthasdef = false; atthasmissing = false; attidentity = '';
            attgenerated = ''; attisdropped = false; attislocal = true; attinhcount = 0; attcollation = t.typcollation",
        )),
    },
    base(
        "pg_type",
        "x.oid < 16384 OR x.oid = ANY({types})",
        "oid; typname; typnamespace; typowner = 10; typlen; typbyval; typtype; typcategory; typispreferred; typisdefined;
            typdelim; typrelid; typsubscript; typelem; typarray; typinput; typoutput; typreceive; typsend; typmodin;
            typmodout; typanalyze; typalign; typstorage; typnotnull; typbasetype; typtypmod; typndims; typcollation;
            typdefaultbin = NULL; typdefault = CASE WHEN x.oid < 16384 THEN x.typdefault END; typacl = NULL",
    ),
    base("pg_enum", "x.enumtypid = ANY({types})", "oid; enumtypid; enumsortorder; enumlabel"),
    base(
        "pg_range",
        "x.rngtypid < 16384 OR x.rngtypid = ANY({types})",
        "rngtypid; rngsubtype; rngmultitypid; rngcollation; rngsubopc; rngcanonical; rngsubdiff",
    ),
    base(
        "pg_constraint",
        "x.oid < 16384 OR x.oid = ANY({constraints})",
        "oid; conname; connamespace; contype; condeferrable; condeferred; conenforced; convalidated; conrelid; contypid;
            conindid = CASE WHEN x.conindid < 16384 OR x.conindid = ANY({indexes}) THEN x.conindid ELSE 0 END;
            conparentid = 0; confrelid; confupdtype; confdeltype; confmatchtype; conislocal = true; coninhcount = 0;
            connoinherit; conperiod; conkey = {conkey}; confkey = {confkey};
            conpfeqop; conppeqop; conffeqop; confdelsetcols = NULL; conexclop = NULL; conbin = NULL",
    ),
    base(
        "pg_index",
        "x.indexrelid < 16384 OR x.indexrelid = ANY({indexes})",
        "indexrelid; indrelid; indnatts; indnkeyatts; indisunique; indnullsnotdistinct; indisprimary; indisexclusion;
            indimmediate; indisclustered = false; indisvalid = true; indcheckxmin = false; indisready = true;
            indislive = true; indisreplident = false; indkey = {indkey}; indcollation; indclass; indoption;
            indexprs = NULL; indpred = NULL",
    ),
    base(
        "pg_attrdef",
        "x.oid = ANY({defaults})",
        "oid; adrelid; adnum = (SELECT v.new FROM {columns} WHERE v.relid = x.adrelid AND v.num = x.adnum);
            adbin = pg_catalog.pg_get_expr(x.adbin, x.adrelid)",
    ),
    Base {
        name: "pg_description",
        filter: "x.objoid < 16384 OR (x.objoid = ANY({indexes}) AND x.classoid = 1259)
            OR (x.objoid = ANY({constraints}) AND x.classoid = 2606)",
        columns: "objoid; classoid; objsubid; description",
        own: Some((
            "{notes} AS o(relid, num, new, note)",
            "objoid = o.relid; classoid = 1259; objsubid = o.new;
            description = pg_catalog.concat_ws(E'\\n', (SELECT d.description FROM pg_catalog.pg_description AS d
                WHERE d.objoid = o.relid AND d.classoid = 1259 AND d.objsubid = o.num), o.note)",
        )),
    },
    base("pg_am", BUILT_IN, "oid; amname; amhandler; amtype"),
    Base {
        name: "pg_database",
        filter: "x.datname = pg_catalog.current_database()",
        columns: "oid; datname = {database}; datdba = 10; encoding; datlocprovider; datistemplate = false; datallowconn = true;
            dathasloginevt = false; datconnlimit = -1; datlastsysoid = 0; datfrozenxid = '0'; datminmxid = '0';
            dattablespace = 1663; datcollate; datctype; daticulocale; datlocale; daticurules; datcollversion; datacl = NULL",
        // Databases of other policies behind the same port: their names, and nothing else of them.
        own: Some((
            "{databases} AS o(oid, name)",
            "oid = o.oid; datname = o.name; datdba = 10; encoding = 6; datlocprovider = 'c'; datistemplate = false;
            datallowconn = true; dathasloginevt = false; datconnlimit = -1; datlastsysoid = 0; datfrozenxid = '0';
            datminmxid = '0'; dattablespace = 1663; datcollate = 'C'; datctype = 'C'",
        )),
    },
    base(
        "pg_collation",
        BUILT_IN,
        "oid; collname; collnamespace; collowner = 10; collprovider; collisdeterministic; collencoding; collcollate;
            collctype; colliculocale; colllocale; collicurules; collversion",
    ),
    base(
        "pg_proc",
        BUILT_IN,
        "oid; proname; pronamespace; proowner = 10; prolang; procost; prorows; provariadic; prosupport; prokind;
            prosecdef; proleakproof; proisstrict; proretset; provolatile; proparallel; pronargs; pronargdefaults;
            prorettype; proargtypes; proallargtypes; proargmodes; proargnames; proargdefaults = NULL; protrftypes;
            prosrc; probin; prosqlbody = NULL; proconfig = NULL; proacl = NULL",
    ),
    Base {
        name: "pg_settings",
        filter: "x.name = ANY({shown})",
        columns: "name; setting = COALESCE((SELECT s.value FROM {settings} WHERE s.name = pg_catalog.lower(x.name)), x.setting);
            unit; category; short_desc; extra_desc; context; vartype; source = 'default'; min_val; max_val; enumvals;
            boot_val; reset_val = NULL; sourcefile = NULL; sourceline = NULL; pending_restart = false",
        own: Some((
            "{settings} WHERE s.name LIKE 'noisegate.%'",
            "name = s.name; setting = s.value; category = 'noisegate';
            short_desc = ''; context = 'user'; vartype = 'string'; source = 'session'; pending_restart = false",
        )),
    },
    Base {
        name: "pg_roles",
        filter: NONE,
        columns: "rolname; rolsuper; rolinherit; rolcreaterole; rolcreatedb; rolcanlogin; rolreplication; rolconnlimit;
            rolpassword; rolvaliduntil; rolbypassrls; rolconfig; oid",
        own: Some((
            "{roles} AS o(oid, name)",
            "rolname = o.name; rolsuper = false; rolinherit = true; rolcreaterole = false; rolcreatedb = false;
            rolcanlogin = o.oid <> 10; rolreplication = false; rolconnlimit = -1; rolpassword = '********';
            rolbypassrls = false; oid = o.oid",
        )),
    },
    Base {
        name: "pg_user",
        filter: NONE,
        columns: "usename; usesysid; usecreatedb; usesuper; userepl; usebypassrls; passwd; valuntil; useconfig",
        own: Some((
            "{roles} AS o(oid, name)",
            "usename = o.name; usesysid = o.oid; usecreatedb = false; usesuper = false; userepl = false;
            usebypassrls = false; passwd = '********'",
        )),
    },
    base("pg_tablespace", BUILT_IN, "oid; spcname; spcowner = 10; spcacl = NULL; spcoptions = NULL"),
    base(
        "pg_extension",
        BUILT_IN,
        "oid; extname; extowner = 10; extnamespace; extrelocatable; extversion; extconfig = NULL; extcondition = NULL",
    ),
    base(
        "pg_language",
        BUILT_IN,
        "oid; lanname; lanowner = 10; lanispl; lanpltrusted; lanplcallfoid; laninline; lanvalidator; lanacl = NULL",
    ),
    base(
        "pg_opclass",
        BUILT_IN,
        "oid; opcmethod; opcname; opcnamespace; opcowner = 10; opcfamily; opcintype; opcdefault; opckeytype",
    ),
    base("pg_aggregate", "x.aggfnoid::pg_catalog.oid < 16384", "aggfnoid; aggkind; aggnumdirectargs; aggtransfn; aggfinalfn; aggcombinefn;
            aggserialfn; aggdeserialfn; aggmtransfn; aggminvtransfn; aggmfinalfn; aggfinalextra; aggmfinalextra;
            aggfinalmodify; aggmfinalmodify; aggsortop; aggtranstype; aggtransspace; aggmtranstype; aggmtransspace;
            agginitval; aggminitval"),
    base("pg_amop", BUILT_IN, "oid; amopfamily; amoplefttype; amoprighttype; amopstrategy; amoppurpose; amopopr; amopmethod;
            amopsortfamily"),
    base("pg_amproc", BUILT_IN, "oid; amprocfamily; amproclefttype; amprocrighttype; amprocnum; amproc"),
    base("pg_conversion", BUILT_IN, "oid; conname; connamespace; conowner = 10; conforencoding; contoencoding; conproc; condefault"),
    base("pg_ts_parser", BUILT_IN, "oid; prsname; prsnamespace; prsstart; prstoken; prsend; prsheadline; prslextype"),
    base("pg_ts_template", BUILT_IN, "oid; tmplname; tmplnamespace; tmplinit; tmpllexize"),
    base("pg_ts_dict", BUILT_IN, "oid; dictname; dictnamespace; dictowner = 10; dicttemplate; dictinitoption"),
    base("pg_ts_config", BUILT_IN, "oid; cfgname; cfgnamespace; cfgowner = 10; cfgparser"),
    base("pg_ts_config_map", "x.mapcfg < 16384", "mapcfg; maptokentype; mapseqno; mapdict"),
    base("pg_timezone_names", "true", "name; abbrev; utc_offset; is_dst"),
    base("pg_timezone_abbrevs", "true", "abbrev; utc_offset; is_dst"),
    base("pg_opfamily", BUILT_IN, "oid; opfmethod; opfname; opfnamespace; opfowner = 10"),
    base(
        "pg_operator",
        BUILT_IN,
        "oid; oprname; oprnamespace; oprowner = 10; oprkind; oprcanmerge; oprcanhash; oprleft; oprright; oprresult;
            oprcom; oprnegate; oprcode; oprrest; oprjoin",
    ),
    base("pg_cast", BUILT_IN, "oid; castsource; casttarget; castfunc; castcontext; castmethod"),
    // Between keys and the indexes that keep them (2606 is pg_constraint, 1259 pg_class).
    base(
        "pg_depend",
        "(x.classid = 2606 AND x.objid = ANY({constraints}) AND x.refclassid = 1259 AND x.refobjid = ANY({indexes}))
            OR (x.classid = 1259 AND x.objid = ANY({indexes}) AND x.refclassid = 2606
                AND x.refobjid = ANY({constraints}))",
        "classid; objid; objsubid; refclassid; refobjid; refobjsubid; deptype",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_there_once() {
        let mut names: Vec<&str> = BASES.iter().map(|b| b.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
