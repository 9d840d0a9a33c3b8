// get_order once more, in C without a library, from docs/abi.md alone. The test
// holds its answers against those of the Go plugin.
typedef unsigned int u32;
typedef unsigned long long u64;

#define HOST(module, name) __attribute__((import_module(module), import_name(name)))

HOST("toolhost", "arguments") u64 host_arguments(const void *q, u32 qlen, void *r, u32 rcap);
HOST("toolhost", "result") u64 host_result(const void *q, u32 qlen, void *r, u32 rcap);
HOST("toolhost", "error") u64 host_error(const void *q, u32 qlen, void *r, u32 rcap);
HOST("records", "get") u64 records_get(const void *q, u32 qlen, void *r, u32 rcap);

static char asked[256], request[512], row[8192], result[8192];

static u32 put(char *to, u32 at, const char *from, u32 n) {
	for (u32 i = 0; i < n; i++)
		to[at + i] = from[i];
	return at + n;
}

#define PUT(to, at, text) put(to, at, text, sizeof(text) - 1)

__attribute__((export_name("run"))) int run(void) {
	// {"order_id":"LK-581106"}: what the host gives is its own writing of the
	// parsed value, so the value stands behind the first 13 bytes.
	u64 a = host_arguments(0, 0, asked, sizeof asked);
	u32 n = (u32)a;
	if (a >> 32 || n < 15)
		return 1;
	u32 at = PUT(request, 0, "{\"from\":\"orders\",\"key\":\"");
	at = put(request, at, asked + 13, n - 15);
	at = PUT(request, at, "\"}");
	a = records_get(request, at, row, sizeof row);
	if (a >> 32) {
		host_error("not available", 13, 0, 0);
		return 1;
	}
	// {"row":{...}} -> {"order":{...}}
	at = PUT(result, 0, "{\"order\":");
	at = put(result, at, row + 7, (u32)a - 7);
	return (int)(host_result(result, at, 0, 0) >> 32);
}
