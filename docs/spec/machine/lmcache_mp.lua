-- Dissector of Wireshark for the multiprocess server of LMCache, 0.3.9.post1 to 0.5.6 and later: msgpack in messages of ZeroMQ.
--
-- Written by 'python -m docs.generator' from the tables that the cases are held against; do not edit.
-- docs/spec/machine/index.md says how to install and use it. Licence: Apache-2.0. Run with Wireshark 4.0.17 (Lua 5.2) and 4.4.19 (Lua 5.4).

-- Runs of releases with the same operations, oldest first: what stands in the frame of the operation, its name, and its payloads.
local GENERATIONS = {
    {
        first = "0.3.9.post1",
        last = "0.3.9.post2",
        releases = "0.3.9.post1 to 0.3.9.post2",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "[IPCCacheEngineKey]", "int", "[int]" },
            [4] = { "RETRIEVE", "[IPCCacheEngineKey]", "int", "[int]" },
            [5] = { "LOOKUP", "[IPCCacheEngineKey]", "bool?" },
            [6] = { "NOOP" },
        },
    },
    {
        first = "0.3.10",
        last = "0.3.13",
        releases = "0.3.10 to 0.3.13",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "[IPCCacheEngineKey]", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "[IPCCacheEngineKey]", "int", "[int]", "bytes" },
            [5] = { "LOOKUP", "[IPCCacheEngineKey]", "bool?" },
            [6] = { "CLEAR" },
            [7] = { "GET_CHUNK_SIZE" },
            [8] = { "NOOP" },
        },
    },
    {
        first = "0.3.14",
        last = "0.3.14",
        releases = "0.3.14",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "[IPCCacheEngineKey]", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "[IPCCacheEngineKey]", "int", "[int]", "bytes" },
            [5] = { "LOOKUP", "[IPCCacheEngineKey]" },
            [6] = { "END_SESSION", "str" },
            [7] = { "CLEAR" },
            [8] = { "GET_CHUNK_SIZE" },
            [9] = { "NOOP" },
            [10] = { "CB_REGISTER_KV_CACHE", "int", "[ext]" },
            [11] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [12] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [13] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [14] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [15] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
        },
    },
    {
        first = "0.3.15",
        last = "0.3.15",
        releases = "0.3.15",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [5] = { "LOOKUP", "IPCCacheEngineKey" },
            [6] = { "END_SESSION", "str" },
            [7] = { "CLEAR" },
            [8] = { "GET_CHUNK_SIZE" },
            [9] = { "NOOP" },
            [10] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [11] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [12] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [13] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [14] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [15] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.1",
        last = "0.4.1",
        releases = "0.4.1",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "int" },
            [7] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [8] = { "END_SESSION", "str" },
            [9] = { "CLEAR" },
            [10] = { "GET_CHUNK_SIZE" },
            [11] = { "NOOP" },
            [12] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [13] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [14] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [15] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [16] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [17] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [18] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [19] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.2",
        last = "0.4.2",
        releases = "0.4.2",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "int" },
            [7] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [8] = { "END_SESSION", "str" },
            [9] = { "CLEAR" },
            [10] = { "GET_CHUNK_SIZE" },
            [11] = { "PING" },
            [12] = { "NOOP" },
            [13] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [14] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [15] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [16] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [17] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [18] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [19] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [20] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.3",
        last = "0.4.3",
        releases = "0.4.3",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "LayoutHints" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "int" },
            [7] = { "QUERY_PREFETCH_LOOKUP_HITS", "int" },
            [8] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [9] = { "END_SESSION", "str" },
            [10] = { "CLEAR" },
            [11] = { "GET_CHUNK_SIZE" },
            [12] = { "PING" },
            [13] = { "REPORT_BLOCK_ALLOCATION", "[BlockAllocationRecord]" },
            [14] = { "NOOP" },
            [15] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [16] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [17] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [18] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [19] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [20] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [21] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [22] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.4",
        last = "0.4.4",
        releases = "0.4.4",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "LayoutHints" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [8] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [9] = { "END_SESSION", "str" },
            [10] = { "CLEAR" },
            [11] = { "GET_CHUNK_SIZE" },
            [12] = { "PING" },
            [13] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [14] = { "NOOP" },
            [15] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [16] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [17] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [18] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [19] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [20] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [21] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [22] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.5",
        last = "0.4.5",
        releases = "0.4.5",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [8] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [9] = { "END_SESSION", "str" },
            [10] = { "CLEAR" },
            [11] = { "GET_CHUNK_SIZE" },
            [12] = { "PING" },
            [13] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [14] = { "NOOP" },
            [15] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [16] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [17] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [18] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [19] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [20] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [21] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [22] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.6",
        last = "0.4.6",
        releases = "0.4.6",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[int]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[int]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [8] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [9] = { "END_SESSION", "str" },
            [10] = { "REGISTER_KV_CACHE_NON_GPU_CONTEXT", "RegisterNonGpuContextPayload" },
            [11] = { "PREPARE_STORE", "IPCCacheEngineKey", "int" },
            [12] = { "COMMIT_STORE", "IPCCacheEngineKey", "int", "bytes" },
            [13] = { "PREPARE_RETRIEVE", "IPCCacheEngineKey", "int" },
            [14] = { "COMMIT_RETRIEVE", "IPCCacheEngineKey", "int" },
            [15] = { "CLEAR" },
            [16] = { "GET_CHUNK_SIZE" },
            [17] = { "PING" },
            [18] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [19] = { "NOOP" },
            [20] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [21] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [22] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [23] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [24] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [25] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [26] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [27] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
        },
    },
    {
        first = "0.4.7",
        last = "0.4.7",
        releases = "0.4.7",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheEngineKey", "int", "[[int]]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheEngineKey", "int", "[[int]]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheEngineKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [8] = { "FREE_LOOKUP_LOCKS", "IPCCacheEngineKey", "int" },
            [9] = { "END_SESSION", "str" },
            [10] = { "REGISTER_KV_CACHE_NON_GPU_CONTEXT", "RegisterNonGpuContextPayload" },
            [11] = { "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT", "int" },
            [12] = { "PREPARE_STORE", "IPCCacheEngineKey", "int" },
            [13] = { "COMMIT_STORE", "IPCCacheEngineKey", "int", "bytes" },
            [14] = { "PREPARE_RETRIEVE", "IPCCacheEngineKey", "int" },
            [15] = { "COMMIT_RETRIEVE", "IPCCacheEngineKey", "int" },
            [16] = { "CLEAR" },
            [17] = { "GET_CHUNK_SIZE" },
            [18] = { "PING" },
            [19] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [20] = { "NOOP" },
            [21] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [22] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [23] = { "CB_STORE_PRE_COMPUTED", "IPCCacheEngineKey", "int", "int", "bytes" },
            [24] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheEngineKey" },
            [25] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheEngineKey", "[(int, int)]", "int", "int", "bytes" },
            [26] = { "CB_STORE_FINAL", "IPCCacheEngineKey", "int", "int", "bytes" },
            [27] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheEngineKey" },
            [28] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheEngineKey", "[CBMatchResult]", "int", "int", "bytes" },
            [29] = { "CB_REGISTER_ROPE_V3", "int", "ext", "int", "bool" },
            [30] = { "CB_UNREGISTER_ROPE_V3", "int" },
            [31] = { "CB_RETRIEVE_PRE_COMPUTED_V3", "IPCCacheEngineKey", "[CBMatchResult]", "[int]", "int", "bytes" },
            [32] = { "CB_UNIFIED_LOOKUP", "IPCCacheEngineKey", "int" },
        },
    },
    {
        first = "0.5.0",
        last = "0.5.1",
        releases = "0.5.0 to 0.5.1",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheServerKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            [8] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [9] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            [10] = { "END_SESSION", "str" },
            [11] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            [12] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            [13] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            [14] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            [15] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            [16] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            [17] = { "CLEAR" },
            [18] = { "GET_CHUNK_SIZE" },
            [19] = { "PING", "int?" },
            [20] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [21] = { "NOOP" },
            [22] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [23] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [24] = { "CB_STORE_PRE_COMPUTED", "IPCCacheServerKey", "int", "int", "bytes" },
            [25] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheServerKey" },
            [26] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[(int, int)]", "int", "int", "bytes" },
            [27] = { "CB_STORE_FINAL", "IPCCacheServerKey", "int", "int", "bytes" },
            [28] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheServerKey" },
            [29] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheServerKey", "[CBMatchResult]", "int", "int", "bytes" },
            [30] = { "CB_REGISTER_ROPE_V3", "int", "ext", "int", "bool" },
            [31] = { "CB_UNREGISTER_ROPE_V3", "int" },
            [32] = { "CB_RETRIEVE_PRE_COMPUTED_V3", "IPCCacheServerKey", "[CBMatchResult]", "[int]", "int", "bytes" },
            [33] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            [34] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "MemoryLayoutDesc" },
            [35] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            [36] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
        },
    },
    {
        first = "0.5.2",
        last = "0.5.2",
        releases = "0.5.2",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [4] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            [5] = { "LOOKUP", "IPCCacheServerKey", "int" },
            [6] = { "QUERY_PREFETCH_STATUS", "str" },
            [7] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            [8] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [9] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            [10] = { "END_SESSION", "str" },
            [11] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            [12] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            [13] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            [14] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            [15] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            [16] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            [17] = { "CLEAR" },
            [18] = { "GET_CHUNK_SIZE" },
            [19] = { "PING", "int?" },
            [20] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [21] = { "NOOP" },
            [22] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [23] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [24] = { "CB_STORE_PRE_COMPUTED", "IPCCacheServerKey", "int", "int", "bytes" },
            [25] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheServerKey" },
            [26] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[(int, int)]", "int", "int", "bytes" },
            [27] = { "CB_STORE_FINAL", "IPCCacheServerKey", "int", "int", "bytes" },
            [28] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheServerKey" },
            [29] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheServerKey", "[CBMatchResult]", "int", "int", "bytes" },
            [30] = { "CB_REGISTER_ROPE_V3", "int", "[ext]", "int", "bool", "[int]" },
            [31] = { "CB_UNREGISTER_ROPE_V3", "int" },
            [32] = { "CB_RETRIEVE_PRE_COMPUTED_V3", "IPCCacheServerKey", "[CBMatchResult]", "[[int]]", "int", "bytes" },
            [33] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            [34] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "MemoryLayoutDesc" },
            [35] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            [36] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
        },
    },
    {
        first = "0.5.3",
        last = "0.5.4",
        releases = "0.5.3 to 0.5.4",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "REGISTER_Q_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [4] = { "UNREGISTER_Q_CACHE", "int" },
            [5] = { "STORE_Q", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [6] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [7] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            [8] = { "LOOKUP", "IPCCacheServerKey", "int" },
            [9] = { "QUERY_PREFETCH_STATUS", "str" },
            [10] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            [11] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [12] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            [13] = { "END_SESSION", "str" },
            [14] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            [15] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            [16] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            [17] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            [18] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            [19] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            [20] = { "CLEAR" },
            [21] = { "GET_CHUNK_SIZE" },
            [22] = { "PING", "int?" },
            [23] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [24] = { "NOOP" },
            [25] = { "CB_REGISTER_KV_CACHE", "int", "[ext]", "str", "int" },
            [26] = { "CB_UNREGISTER_KV_CACHE", "int" },
            [27] = { "CB_STORE_PRE_COMPUTED", "IPCCacheServerKey", "int", "int", "bytes" },
            [28] = { "CB_LOOKUP_PRE_COMPUTED", "IPCCacheServerKey" },
            [29] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[(int, int)]", "int", "int", "bytes" },
            [30] = { "CB_STORE_FINAL", "IPCCacheServerKey", "int", "int", "bytes" },
            [31] = { "CB_LOOKUP_PRE_COMPUTED_V2", "IPCCacheServerKey" },
            [32] = { "CB_RETRIEVE_PRE_COMPUTED_V2", "IPCCacheServerKey", "[CBMatchResult]", "int", "int", "bytes" },
            [33] = { "CB_REGISTER_ROPE_V3", "int", "[ext]", "int", "bool", "[int]", "[[int]]" },
            [34] = { "CB_UNREGISTER_ROPE_V3", "int" },
            [35] = { "CB_RETRIEVE_PRE_COMPUTED_V3", "IPCCacheServerKey", "[CBMatchResult]", "[[int]]", "int", "bytes" },
            [36] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            [37] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "{int: MemoryLayoutDesc}" },
            [38] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            [39] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
            [40] = { "GET_EXPERIMENTAL" },
        },
    },
    {
        first = "0.5.5",
        last = "0.5.5",
        releases = "0.5.5",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "REGISTER_Q_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [4] = { "UNREGISTER_Q_CACHE", "int" },
            [5] = { "STORE_Q", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [6] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [7] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            [8] = { "LOOKUP", "IPCCacheServerKey", "int" },
            [9] = { "QUERY_PREFETCH_STATUS", "str" },
            [10] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            [11] = { "QUERY_PREFETCH_LOOKUP_HITS", "str" },
            [12] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            [13] = { "END_SESSION", "str" },
            [14] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            [15] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            [16] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            [17] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            [18] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            [19] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            [20] = { "CLEAR" },
            [21] = { "GET_CHUNK_SIZE" },
            [22] = { "PING", "int?" },
            [23] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [24] = { "NOOP" },
            [25] = { "CB_REGISTER_ROPE", "int", "[ext]", "int", "bool", "[int]", "[[int]]" },
            [26] = { "CB_UNREGISTER_ROPE", "int" },
            [27] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[CBMatchResult]", "[[int]]", "int", "bytes" },
            [28] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            [29] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "{int: MemoryLayoutDesc}" },
            [30] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            [31] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
            [32] = { "GET_EXPERIMENTAL" },
            [33] = { "CB_PROTOCOL_HANDSHAKE", "int" },
        },
    },
    {
        first = "0.5.6",
        last = nil,
        releases = "0.5.6 and later",
        operations = {
            [1] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            ["register_kv_cache"] = { "REGISTER_KV_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [2] = { "UNREGISTER_KV_CACHE", "int" },
            ["unregister_kv_cache"] = { "UNREGISTER_KV_CACHE", "int" },
            [3] = { "REGISTER_Q_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            ["register_q_cache"] = { "REGISTER_Q_CACHE", "int", "[ext]", "str", "int", "EngineType", "LayoutHints", "[EngineGroupInfo]" },
            [4] = { "UNREGISTER_Q_CACHE", "int" },
            ["unregister_q_cache"] = { "UNREGISTER_Q_CACHE", "int" },
            [5] = { "STORE_Q", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            ["store_q"] = { "STORE_Q", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [6] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            ["store"] = { "STORE", "IPCCacheServerKey", "int", "[[int]]", "bytes" },
            [7] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            ["retrieve"] = { "RETRIEVE", "IPCCacheServerKey", "int", "[[int]]", "bytes", "int" },
            [8] = { "LOOKUP", "IPCCacheServerKey", "int" },
            ["lookup"] = { "LOOKUP", "IPCCacheServerKey", "int" },
            [9] = { "QUERY_PREFETCH_STATUS", "str" },
            ["query_prefetch_status"] = { "QUERY_PREFETCH_STATUS", "str" },
            [10] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            ["wait_prefetch_status"] = { "WAIT_PREFETCH_STATUS", "str", "float" },
            [12] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            ["free_lookup_locks"] = { "FREE_LOOKUP_LOCKS", "IPCCacheServerKey", "int" },
            [13] = { "END_SESSION", "str" },
            ["end_session"] = { "END_SESSION", "str" },
            [14] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            ["register_kv_cache_engine_driven_context"] = { "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "RegisterEngineDrivenContextPayload" },
            [15] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            ["unregister_kv_cache_engine_driven_context"] = { "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "int" },
            [16] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            ["prepare_store"] = { "PREPARE_STORE", "IPCCacheServerKey", "int" },
            [17] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            ["commit_store"] = { "COMMIT_STORE", "IPCCacheServerKey", "int", "bytes" },
            [18] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            ["prepare_retrieve"] = { "PREPARE_RETRIEVE", "IPCCacheServerKey", "int" },
            [19] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            ["commit_retrieve"] = { "COMMIT_RETRIEVE", "IPCCacheServerKey", "int" },
            [20] = { "CLEAR", "bool" },
            ["clear"] = { "CLEAR", "bool" },
            [21] = { "GET_CHUNK_SIZE" },
            ["get_chunk_size"] = { "GET_CHUNK_SIZE" },
            [22] = { "PING", "int?" },
            ["ping"] = { "PING", "int?" },
            [23] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            ["report_block_allocation"] = { "REPORT_BLOCK_ALLOCATION", "int", "str", "[BlockAllocationRecord]" },
            [24] = { "NOOP" },
            ["noop"] = { "NOOP" },
            [25] = { "CB_REGISTER_ROPE", "int", "[ext]", "int", "bool", "[int]", "[[int]]", "[int]", "str" },
            ["cb_register_rope"] = { "CB_REGISTER_ROPE", "int", "[ext]", "int", "bool", "[int]", "[[int]]", "[int]", "str" },
            [26] = { "CB_UNREGISTER_ROPE", "int" },
            ["cb_unregister_rope"] = { "CB_UNREGISTER_ROPE", "int" },
            [27] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[CBMatchResult]", "[[int]]", "int", "bytes" },
            ["cb_retrieve_pre_computed"] = { "CB_RETRIEVE_PRE_COMPUTED", "IPCCacheServerKey", "[CBMatchResult]", "[[int]]", "int", "bytes" },
            [28] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            ["cb_unified_lookup"] = { "CB_UNIFIED_LOOKUP", "IPCCacheServerKey", "int" },
            [29] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "{int: MemoryLayoutDesc}" },
            ["p2p_lookup_and_lock"] = { "P2P_LOOKUP_AND_LOCK", "[ObjectKey]", "{int: MemoryLayoutDesc}" },
            [30] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            ["p2p_query_lookup_results"] = { "P2P_QUERY_LOOKUP_RESULTS", "int" },
            [31] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
            ["p2p_unlock_objects"] = { "P2P_UNLOCK_OBJECTS", "[ObjectKey]" },
            [32] = { "GET_EXPERIMENTAL" },
            ["get_experimental"] = { "GET_EXPERIMENTAL" },
            [33] = { "CB_PROTOCOL_HANDSHAKE", "int" },
            ["cb_protocol_handshake"] = { "CB_PROTOCOL_HANDSHAKE", "int" },
            ["cb_reorder_plan"] = { "CB_REORDER_PLAN", "IPCCacheServerKey", "int", "int" },
            ["subscribe_kv_events"] = { "SUBSCRIBE_KV_EVENTS", "int", "str", "int", "int" },
            ["server_module_call"] = { "SERVER_MODULE_CALL", "ServerModuleCallRequest" },
        },
    },
}

-- Candidates in words, with runs of them as one.
local function words_of(candidates)
    local words, first = {}, nil
    for index, one in ipairs(GENERATIONS) do
        if candidates[index] then
            first = first or one.first
            if not candidates[index + 1] then
                table.insert(words, one.last and (first == one.last and first or first .. " to " .. one.last) or first .. " and later")
                first = nil
            end
        end
    end
    return #words == 0 and "no release" or table.concat(words, "; ")
end

local NEWEST = GENERATIONS[#GENERATIONS]
local GREETING = 64
local MORE, LONG, COMMAND = 1, 2, 4
local DEEPEST, MOST_VALUES, LARGEST = 24, 2000, 1073741824

local mp = Proto("lmcache_mp", "LMCache multiprocess server")

local fields = {
    greeting = ProtoField.string("lmcache_mp.greeting", "Greeting", base.ASCII),
    command = ProtoField.string("lmcache_mp.zmtp.command", "Command of ZMTP", base.ASCII),
    socket = ProtoField.string("lmcache_mp.zmtp.socket_type", "Socket type", base.ASCII),
    frame = ProtoField.bytes("lmcache_mp.frame", "Frame"),
    uid = ProtoField.bytes("lmcache_mp.uid", "Uid"),
    request = ProtoField.none("lmcache_mp.request", "Request"),
    reply = ProtoField.none("lmcache_mp.reply", "Reply"),
    operation = ProtoField.string("lmcache_mp.operation", "Operation", base.UNICODE),
    number = ProtoField.uint32("lmcache_mp.operation.number", "Number of the operation", base.DEC),
    payloads = ProtoField.uint32("lmcache_mp.payloads", "Payloads", base.DEC),
    value = ProtoField.string("lmcache_mp.value", "Value", base.UNICODE),
    unread = ProtoField.bytes("lmcache_mp.unread", "Bytes that are no ZMTP"),
    request_in = ProtoField.framenum("lmcache_mp.request_in", "Request in", base.NONE, frametype.REQUEST),
    reply_in = ProtoField.framenum("lmcache_mp.reply_in", "Reply in", base.NONE, frametype.RESPONSE),
    time = ProtoField.relative_time("lmcache_mp.time", "Time from request"),
    generation = ProtoField.string("lmcache_mp.releases", "Read as", base.UNICODE, "The releases whose operations are shown"),
    fits = ProtoField.string("lmcache_mp.fits", "Could be from", base.UNICODE, "Releases with operations like those of this client"),
}
for _, field in pairs(fields) do
    table.insert(mp.fields, field)
end
local experts = {
    operation = ProtoExpert.new("lmcache_mp.expert.operation", "Unknown operation", expert.group.PROTOCOL, expert.severity.WARN),
    payloads = ProtoExpert.new("lmcache_mp.expert.payloads", "Payloads", expert.group.PROTOCOL, expert.severity.WARN),
    short = ProtoExpert.new("lmcache_mp.expert.short", "Short message", expert.group.PROTOCOL, expert.severity.WARN),
    msgpack = ProtoExpert.new("lmcache_mp.expert.msgpack", "No msgpack", expert.group.MALFORMED, expert.severity.WARN),
    zmtp = ProtoExpert.new("lmcache_mp.expert.zmtp", "No ZMTP", expert.group.MALFORMED, expert.severity.ERROR),
    unasked = ProtoExpert.new("lmcache_mp.expert.unasked", "A reply without a request", expert.group.SEQUENCE, expert.severity.NOTE),
    unanswered = ProtoExpert.new("lmcache_mp.expert.unanswered", "No reply", expert.group.SEQUENCE, expert.severity.NOTE),
}
mp.experts = experts

local AUTO = 0
local choices = { { 1, "Found out from requests", AUTO } }
for index, one in ipairs(GENERATIONS) do
    table.insert(choices, { index + 1, one.releases, index })
end
mp.prefs.ports = Pref.range("TCP ports", "5555", "TCP ports of multiprocess servers", 65535)
mp.prefs.generation = Pref.enum("Releases of lmcache", AUTO, "Whose operations are shown", choices, false)

-- Values of msgpack ------------------------------------------------------------------------------------------------------

local function uint(tvb, place, size)
    local value = 0
    for index = 0, size - 1 do
        value = value * 256 + tvb(place + index, 1):uint()
    end
    return value
end

local function int(tvb, place, size)
    local value = uint(tvb, place, size)
    local first = tvb(place, 1):uint()
    return first >= 128 and value - 2 ^ (8 * size) or value
end

local function whole(value)
    return string.format("%.0f", value)
end

local function readable(text)
    return (text:gsub("[^\32-\126]", function(sign) return string.format("\\x%02x", sign:byte()) end))
end

-- The head of a value: its kind, where its content begins, and its size, count or text. Nothing where it is no msgpack.
local function head(tvb, place, stop)
    if place >= stop then
        return nil
    end
    local tag = tvb(place, 1):uint()
    local function sized(kind, size, extra)
        if place + 1 + size + (extra or 0) > stop then
            return nil
        end
        return kind, place + 1 + size + (extra or 0), uint(tvb, place + 1, size), extra and tvb(place + 1 + size, 1):int() or nil
    end
    local function number(text, size)
        return "scalar", place + 1 + size, text
    end
    if tag < 0x80 then return number(tostring(tag), 0) end
    if tag < 0x90 then return "map", place + 1, tag - 0x80 end
    if tag < 0xa0 then return "array", place + 1, tag - 0x90 end
    if tag < 0xc0 then return "str", place + 1, tag - 0xa0 end
    if tag >= 0xe0 then return number(tostring(tag - 256), 0) end
    if tag == 0xc0 then return number("nil", 0) end
    if tag == 0xc2 then return number("false", 0) end
    if tag == 0xc3 then return number("true", 0) end
    if tag >= 0xc4 and tag <= 0xc6 then return sized("bin", 2 ^ (tag - 0xc4)) end
    if tag >= 0xc7 and tag <= 0xc9 then return sized("ext", 2 ^ (tag - 0xc7), 1) end
    if tag >= 0xd9 and tag <= 0xdb then return sized("str", 2 ^ (tag - 0xd9)) end
    if tag == 0xdc or tag == 0xdd then return sized("array", 2 ^ (tag - 0xdb)) end
    if tag == 0xde or tag == 0xdf then return sized("map", 2 ^ (tag - 0xdd)) end
    if tag >= 0xd4 and tag <= 0xd8 then
        if place + 2 > stop then return nil end
        return "ext", place + 2, 2 ^ (tag - 0xd4), tvb(place + 1, 1):int()
    end
    local size = tag == 0xca and 4 or tag == 0xcb and 8 or tag >= 0xcc and tag <= 0xcf and 2 ^ (tag - 0xcc)
        or tag >= 0xd0 and tag <= 0xd3 and 2 ^ (tag - 0xd0) or nil
    if size == nil or place + 1 + size > stop then return nil end
    if tag <= 0xcb then return number(string.format("%.10g", tvb(place + 1, math.floor(size)):float()), size) end
    return number(whole(tag < 0xd0 and uint(tvb, place + 1, size) or int(tvb, place + 1, size)), size)
end

-- Shows one value and returns where it ends, or nothing where it is no msgpack. `budget` bounds how many values are shown.
local function show_value(tvb, tree, place, stop, name, depth, budget)
    local kind, begin, content, tag = head(tvb, place, stop)
    begin = begin and math.floor(begin)
    budget.left = budget.left - 1
    if kind == nil or depth > DEEPEST or budget.left < 0 then
        return nil
    end
    local label = name ~= "" and name .. ": " or ""
    if kind == "scalar" then
        tree:add(fields.value, tvb(place, begin - place), content):set_text(label .. content)
        return begin, content
    elseif kind == "str" or kind == "bin" or kind == "ext" then
        local size = math.floor(content)
        if begin + size > stop then
            return nil
        end
        local shown = size > 0 and tvb(begin, math.min(size, 200)):raw() or ""
        local text = kind == "str" and readable(shown) or string.format("%d bytes", size)
        local words = kind == "str" and '"' .. text .. '"' or kind == "ext" and string.format("extension %d, %s", tag, text) or text
        tree:add(fields.value, tvb(place, begin + size - place), text):set_text(label .. words)
        return begin + size, text
    end
    local count = math.floor(content)
    local branch = tree:add(tvb(place, 1), label .. (kind == "map" and string.format("record of %d fields", count) or string.format("%d values", count)))
    local at = begin
    for index = 1, count do
        local field = string.format("[%d]", index - 1)
        if kind == "map" then
            local key_kind, key_begin, key_size = head(tvb, at, stop)
            if key_kind == "str" then
                local size = math.floor(key_size)
                if key_begin + size > stop then return nil end
                field, at = size > 0 and readable(tvb(key_begin, math.min(size, 100)):raw()) or '""', key_begin + size
            elseif key_kind == "scalar" then
                field, at = key_size, math.floor(key_begin)
            else
                return nil
            end
        end
        at = show_value(tvb, branch, at, stop, field, depth + 1, budget)
        if at == nil then
            return nil
        end
    end
    branch:set_len(at - place)
    return at, nil
end

local function scalar(tvb, frame)
    local kind, begin, content = head(tvb, frame.place, frame.place + frame.size)
    if kind == "scalar" and begin == frame.place + frame.size then
        return tonumber(content)
    elseif kind == "str" and begin + content == frame.place + frame.size and content > 0 then
        return tvb(math.floor(begin), math.floor(content)):raw()
    end
    return nil
end

-- Messages ----------------------------------------------------------------------------------------------------------------

local servers, exchanges, candidates, calls

function mp.init()
    servers, exchanges, candidates, calls = {}, {}, {}, {}
end

local function ends_of(pinfo)
    return tostring(pinfo.src) .. " " .. pinfo.src_port, tostring(pinfo.dst) .. " " .. pinfo.dst_port
end

local function connection_of(pinfo)
    local source, target = ends_of(pinfo)
    return source < target and source .. " " .. target or target .. " " .. source
end

local function in_ports(port)
    for first, last in tostring(mp.prefs.ports):gmatch("(%d+)%-?(%d*)") do
        if port >= tonumber(first) and port <= (tonumber(last) or tonumber(first)) then
            return true
        end
    end
    return false
end

local function from_server(pinfo)
    local known = servers[connection_of(pinfo)]
    if known then
        return known == (ends_of(pinfo))
    elseif in_ports(pinfo.src_port) ~= in_ports(pinfo.dst_port) then
        return in_ports(pinfo.src_port)
    end
    return pinfo.match_uint == pinfo.src_port and pinfo.src_port ~= pinfo.dst_port
end

-- The frames of a message that begins at a place, where it ends, or how many bytes more it takes to know.
local function frames_at(tvb, place)
    local frames, length = {}, tvb:len()
    while true do
        if place + 2 > length then
            return nil, nil, 2 - (length - place)
        end
        local flags = tvb(place, 1):uint()
        if flags > 7 then
            return nil, nil, nil
        end
        local long = math.floor(flags / 2) % 2 == 1
        local begin = place + (long and 9 or 2)
        if begin > length then
            return nil, nil, begin - length
        end
        local size = math.floor(long and uint(tvb, place + 1, 8) or tvb(place + 1, 1):uint())
        if size > LARGEST then
            return nil, nil, nil
        elseif begin + size > length then
            return nil, nil, begin + size - length
        end
        table.insert(frames, { place = begin, size = size, command = flags >= COMMAND })
        place = begin + size
        if flags % 2 == 0 then
            return frames, place, 0
        end
    end
end

local function fitting(operation, count)
    local found = {}
    for index, one in ipairs(GENERATIONS) do
        local entry = one.operations[operation]
        if entry and #entry - 1 == count then
            found[index] = true
        end
    end
    return found
end

local function narrowed(connection, operation, count)
    local fits, both = fitting(operation, count), {}
    for index in pairs(candidates[connection] or fits) do
        both[index] = fits[index]
    end
    if next(both) ~= nil then
        candidates[connection] = both
    end
    return candidates[connection] or {}
end

local function generation_of(found)
    if GENERATIONS[mp.prefs.generation] then
        return GENERATIONS[mp.prefs.generation]
    end
    for index = #GENERATIONS, 1, -1 do
        if found[index] then
            return GENERATIONS[index]
        end
    end
    return NEWEST
end

-- What a message is, once: later passes show the same.
local function taken(tvb, pinfo, frames)
    local item = { frames = frames }
    local connection = connection_of(pinfo)
    if frames[1].command then
        local body = frames[1].size > 0 and tvb(frames[1].place, frames[1].size):raw() or ""
        item.command = body:sub(2, 1 + (body:byte(1) or 0))
        item.socket = body:match("Socket%-Type%z%z%z.(%u+)")
        if item.socket == "ROUTER" then
            servers[connection] = (ends_of(pinfo))
        elseif item.socket == "DEALER" then
            servers[connection] = select(2, ends_of(pinfo))
        end
        return item
    end
    item.reply = from_server(pinfo)
    if #frames < 2 then
        return item
    end
    item.operation = scalar(tvb, frames[2])
    local uid = connection .. " " .. (frames[1].size > 0 and tvb(frames[1].place, frames[1].size):raw() or "")
    if item.reply then
        for _, one in ipairs(exchanges[uid] or {}) do
            if one.operation == item.operation and not (item.exchange and one.reply_in) then
                item.exchange = one
                if not one.reply_in then
                    break
                end
            end
        end
        item.generation = item.exchange and item.exchange.generation or generation_of(candidates[connection] or {})
        if item.exchange and not item.exchange.reply_in then
            item.exchange.reply_in, item.exchange.answered = pinfo.number, pinfo.rel_ts
        end
    else
        local fits = narrowed(connection, item.operation, #frames - 2)
        item.generation, item.fits = generation_of(fits), words_of(fits)
        item.exchange = {
            request_in = pinfo.number, asked = pinfo.rel_ts, generation = item.generation, operation = item.operation,
        }
        exchanges[uid] = exchanges[uid] or {}
        table.insert(exchanges[uid], item.exchange)
    end
    return item
end

local function generated(tree, field, value)
    local shown = tree:add(field, value)
    shown:set_generated()
    return shown
end

local function show_message(tvb, pinfo, root, item, from, stop)
    local tree = root:add(mp, tvb(from, stop - from))
    local frames = item.frames
    if item.command then
        tree:set_text("LMCache multiprocess server, ZMTP " .. readable(item.command))
        tree:add(fields.command, tvb(from, stop - from), readable(item.command))
        if item.socket then
            tree:add(fields.socket, tvb(from, stop - from), item.socket)
        end
        return "ZMTP " .. readable(item.command) .. (item.socket and " " .. item.socket or "")
    end
    local side = item.reply and "Reply" or "Request"
    tree:add(item.reply and fields.reply or fields.request, tvb(from, stop - from)):set_hidden()
    local uid = frames[1]
    if uid.size > 0 then
        tree:add(fields.uid, tvb(uid.place, uid.size))
    end
    if #frames < 2 then
        tree:set_text("LMCache multiprocess server, " .. side .. " of one frame")
        tree:add_proto_expert_info(experts.short, "A message of one frame ends the thread of the server that takes messages")
        return side .. " of one frame"
    end
    local operation = frames[2]
    local entry = item.operation ~= nil and item.generation.operations[item.operation] or nil
    local name = entry and entry[1] or "unknown operation " .. readable(tostring(item.operation))
    local shown = operation.size > 0 and tree:add(fields.operation, tvb(operation.place, operation.size), name) or generated(tree, fields.operation, name)
    if type(item.operation) == "number" and item.operation >= 0 then
        shown:append_text(string.format(" (%d)", item.operation))
        shown:add(fields.number, tvb(operation.place, operation.size), item.operation)
    end
    if not entry then
        shown:add_proto_expert_info(experts.operation, "lmcache " .. item.generation.releases .. " has no such operation")
    end
    local summary = {}
    for index = 3, #frames do
        local frame = frames[index]
        local label = item.reply and "Result" or string.format("Payload %d", index - 2)
        local kind = not item.reply and entry and entry[index - 1]
        local range = frame.size > 0 and tvb(frame.place, frame.size)
        if range then
            local branch = tree:add(fields.frame, range)
            branch:set_text(label .. (kind and " (" .. kind .. ")" or ""))
            local came, text = show_value(tvb, branch, frame.place, frame.place + frame.size, "", 0, { left = MOST_VALUES })
            if came ~= frame.place + frame.size then
                branch:add_proto_expert_info(experts.msgpack, "This frame is not one value of msgpack, or is too large to be shown")
            end
            table.insert(summary, text or "...")
        end
    end
    if not item.reply then
        generated(tree, fields.payloads, #frames - 2)
        if entry and #entry - 1 ~= #frames - 2 then
            tree:add_proto_expert_info(experts.payloads, string.format("%s takes %d payloads, there are %d; servers do not answer", name, #entry - 1, #frames - 2))
        end
    end
    generated(tree, fields.generation, item.generation.releases)
    if item.fits then
        generated(tree, fields.fits, item.fits)
    end
    local exchange = item.exchange
    if item.reply and exchange then
        generated(tree, fields.request_in, exchange.request_in)
        local seconds = math.max(pinfo.rel_ts - exchange.asked, 0)
        generated(tree, fields.time, NSTime.new(math.floor(seconds), math.floor(seconds % 1 * 1000000000 + 0.5)))
    elseif item.reply then
        tree:add_proto_expert_info(experts.unasked, "No request with this uid is in the capture")
    elseif exchange.reply_in then
        generated(tree, fields.reply_in, exchange.reply_in)
    elseif pinfo.visited then
        tree:add_proto_expert_info(experts.unanswered, "The capture has no reply to this request")
    end
    local words = table.concat(summary, ", ")
    tree:set_text("LMCache multiprocess server, " .. side .. ": " .. name)
    return (item.reply and "Reply to " or "") .. name .. (#words > 0 and " " .. (#words > 80 and words:sub(1, 77) .. "..." or words) or "")
end

local last_with_words

function mp.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol:set("LMCache MP")
    local key = pinfo.number .. ":" .. tvb:offset()
    local kept = calls[key] or { items = {}, first = last_with_words ~= pinfo.number }
    calls[key] = kept
    local place, words = 0, {}
    while place < tvb:len() do
        local wants, stop, text
        if tvb(place, 1):uint() == 0xff then
            wants = GREETING - (tvb:len() - place)
            if wants <= 0 then
                local shown = tree:add(mp, tvb(place, GREETING))
                shown:set_text("LMCache multiprocess server, ZMTP greeting")
                local mechanism = readable(tvb(place + 12, 20):raw():match("^[^%z]*"))
                shown:add(fields.greeting, tvb(place, GREETING), string.format("version %d.%d, %s", tvb(place + 10, 1):uint(), tvb(place + 11, 1):uint(), mechanism))
                stop, text = place + GREETING, "ZMTP greeting"
            end
        else
            local frames
            frames, stop, wants = frames_at(tvb, place)
            if frames then
                kept.items[place] = kept.items[place] or taken(tvb, pinfo, frames)
                text = show_message(tvb, pinfo, tree, kept.items[place], place, stop)
            end
        end
        if stop == nil then
            if wants and wants > 0 and pinfo.can_desegment > 0 and tvb:len() == tvb:reported_len() then
                pinfo.desegment_offset, pinfo.desegment_len = place, DESEGMENT_ONE_MORE_SEGMENT
            else
                local shown = tree:add(mp, tvb(place))
                shown:set_text("LMCache multiprocess server, bytes that are no ZMTP")
                shown:add(fields.unread, tvb(place))
                shown:add_proto_expert_info(experts.zmtp, "No message of ZMTP begins here, or not all of it is in the capture")
                table.insert(words, "no ZMTP")
            end
            break
        end
        table.insert(words, text)
        place = stop
    end
    if #words > 0 then
        local line = table.concat(words, "; ", 1, math.min(#words, 4)) .. (#words > 4 and string.format("; and %d more", #words - 4) or "")
        pinfo.cols.info:set(kept.first and line or "; " .. line)
        pinfo.cols.info:fence()
        last_with_words = pinfo.number
    end
    return tvb:len()
end

local tcp_ports = DissectorTable.get("tcp.port")
local registered = mp.prefs.ports
tcp_ports:add(registered, mp)

function mp.prefs_changed()
    if registered ~= mp.prefs.ports then
        tcp_ports:remove(registered, mp)
        registered = mp.prefs.ports
        tcp_ports:add(registered, mp)
    end
end
