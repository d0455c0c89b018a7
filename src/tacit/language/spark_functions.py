"""The functions that Spark 4.3 has for one row, so that a misspelt one is found before any data is read.

From ``SHOW SYSTEM FUNCTIONS`` and each function's group; aggregates, window functions and generators are not here.
``UNREPEATABLE`` ones are refused: a row must count the same whenever and wherever it is read. So are ``FOREIGN`` ones,
which run code by name.
"""

from __future__ import annotations

__all__ = ["AGGREGATE_FUNCTIONS", "FOREIGN", "NUMERIC_FUNCTIONS", "ROW_FUNCTIONS", "UNREPEATABLE"]

_NUMERIC = """
abs acos acosh asin asinh atan atan2 atanh bround cbrt ceil ceiling cos cosh cot csc degrees exp expm1 factorial floor
hypot ln log log10 log1p log2 mod negative pmod positive pow power radians rint round sec sign signum sin sinh sqrt
tan tanh try_add try_divide try_mod try_multiply try_subtract width_bucket nanvl isnan
"""

_UNREPEATABLE = """
rand randn random uniform randstr shuffle uuid monotonically_increasing_id spark_partition_id curdate current_date
current_time current_timestamp localtime localtimestamp now input_file_name input_file_block_start
input_file_block_length
"""

_ROW = """
bin conv e div greatest hex least pi unhex and or not in like ilike rlike regexp regexp_like equal_null isnotnull
isnull between case bit_count bit_get getbit shiftleft shiftright shiftrightunsigned
add_months convert_timezone current_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz
make_timestamp_ntz make_ym_interval minute month monthname months_between next_day quarter second time_bucket time_diff
time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc
timestampadd timestampdiff
timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds to_date to_time to_timestamp to_timestamp_ltz
to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz
try_make_timestamp_ntz try_to_date try_to_time try_to_timestamp unix_date unix_micros unix_millis unix_nanos
unix_seconds unix_timestamp weekday weekofyear window year
aes_decrypt aes_encrypt bitmap_bit_position bitmap_bucket_number bitmap_count hmac try_aes_decrypt typeof
aggregate array_sort exists filter forall map_filter map_zip_with reduce transform transform_keys transform_values
zip_with array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
array_join array_max array_min array_position array_prepend array_remove array_repeat array_size array_union
arrays_overlap arrays_zip flatten get sequence slice sort_array
ascii base64 bit_length btrim char char_length character_length chr collate collation concat_ws contains decode elt
encode endswith find_in_set format_number format_string from_base32 initcap instr is_valid_utf8
jaro_winkler_similarity lcase left len length levenshtein locate lower lpad ltrim luhn_check make_valid_utf8 mask
octet_length overlay position printf quote regexp_count regexp_extract regexp_extract_all regexp_instr regexp_replace
regexp_substr repeat replace right rpad rtrim sentences soundex space split split_part startswith substr substring
substring_index to_base32 to_binary to_char to_number to_varchar translate trim try_to_binary try_to_number
try_validate_utf8 ucase unbase64 upper validate_utf8
coalesce if ifnull nullif nullifzero nvl nvl2 when zeroifnull
bigint binary boolean cast try_cast date decimal double float int smallint string time timestamp tinyint
cardinality concat element_at reverse size try_element_at crc32 hash md5 sha sha1 sha2 xxhash64
from_csv schema_of_csv to_csv from_json get_json_object json_array_length json_object_keys schema_of_json to_json
from_xml schema_of_xml to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
xpath_short xpath_string is_valid_variant is_variant_null parse_json schema_of_variant to_variant_object try_parse_json
try_variant_get variant_get map map_concat map_contains_key map_entries map_from_arrays map_from_entries map_keys
map_values str_to_map named_struct struct parse_url try_parse_url try_url_decode url_decode url_encode
hll_sketch_estimate vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize
"""

_AGGREGATE = """
any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or bit_xor bool_and
bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value
grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_sketch_agg_bigint kll_sketch_agg_double
kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile
percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum theta_sketch_agg try_avg
try_sum var_pop var_samp variance vector_avg vector_sum
"""

NUMERIC_FUNCTIONS = frozenset(_NUMERIC.split())
UNREPEATABLE = frozenset(_UNREPEATABLE.split())
FOREIGN = frozenset({"java_method", "reflect", "try_reflect"})
ROW_FUNCTIONS = NUMERIC_FUNCTIONS | frozenset(_ROW.split())
AGGREGATE_FUNCTIONS = frozenset(_AGGREGATE.split())
