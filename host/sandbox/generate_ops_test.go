package sandbox

// genOperator is an instruction that takes and gives values and touches nothing else.
type genOperator struct {
	kind  string
	code  []byte
	takes string
	gives byte
	nan   bool // what NaN it gives is open
}

// genOperators are those of each type that they give.
var genOperators = func() map[byte][]genOperator {
	by := map[byte][]genOperator{}
	for _, list := range [][]genOperator{genIntegerOperators(), genFloatOperators(), genConversions(), genVectorOperators()} {
		for _, o := range list {
			by[o.gives] = append(by[o.gives], o)
		}
	}
	return by
}()

// genRun gives operators of one shape whose codes follow one another.
func genRun(kind string, from, to byte, takes string, gives byte, nan bool) (list []genOperator) {
	for code := from; code <= to; code++ {
		list = append(list, genOperator{kind, []byte{code}, takes, gives, nan})
	}
	return list
}

func genJoined(lists ...[]genOperator) (all []genOperator) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// genOften gives each three times: of many operators, those that trap are to be chosen more often.
func genOften(list []genOperator) []genOperator { return genJoined(list, list, list) }

func genIntegerOperators() []genOperator {
	two32, two64 := i32Value+i32Value, i64Value+i64Value
	return genJoined(
		genRun("eqz", 0x45, 0x45, i32Value, typeI32, false),
		genRun("compare i32", 0x46, 0x4f, two32, typeI32, false),
		genRun("eqz", 0x50, 0x50, i64Value, typeI32, false),
		genRun("compare i64", 0x51, 0x5a, two64, typeI32, false),
		genRun("count bits", 0x67, 0x69, i32Value, typeI32, false),
		genRun("add, sub, mul", 0x6a, 0x6c, two32, typeI32, false),
		genOften(genRun("div i32", 0x6d, 0x6e, two32, typeI32, false)),
		genOften(genRun("rem i32", 0x6f, 0x70, two32, typeI32, false)),
		genRun("bits", 0x71, 0x78, two32, typeI32, false),
		genRun("count bits", 0x79, 0x7b, i64Value, typeI64, false),
		genRun("add, sub, mul", 0x7c, 0x7e, two64, typeI64, false),
		genOften(genRun("div i64", 0x7f, 0x80, two64, typeI64, false)),
		genOften(genRun("rem i64", 0x81, 0x82, two64, typeI64, false)),
		genRun("bits", 0x83, 0x8a, two64, typeI64, false),
		genRun("extend", 0xc0, 0xc1, i32Value, typeI32, false),
		genRun("extend", 0xc2, 0xc4, i64Value, typeI64, false),
		genRun("ref.is_null", 0xd1, 0xd1, string(rune(typeFuncref)), typeI32, false),
	)
}

func genFloatOperators() []genOperator {
	f32, f64 := string(rune(typeF32)), string(rune(typeF64))
	return genJoined(
		genRun("compare f32", 0x5b, 0x60, f32+f32, typeI32, false),
		genRun("compare f64", 0x61, 0x66, f64+f64, typeI32, false),
		genRun("sign", 0x8b, 0x8c, f32, typeF32, false), // abs, neg: bits are known
		genRun("round, sqrt", 0x8d, 0x91, f32, typeF32, true),
		genRun("float arithmetic", 0x92, 0x97, f32+f32, typeF32, true),
		genRun("sign", 0x98, 0x98, f32+f32, typeF32, false),
		genRun("sign", 0x99, 0x9a, f64, typeF64, false),
		genRun("round, sqrt", 0x9b, 0x9f, f64, typeF64, true),
		genRun("float arithmetic", 0xa0, 0xa5, f64+f64, typeF64, true),
		genRun("sign", 0xa6, 0xa6, f64+f64, typeF64, false),
	)
}

func genConversions() []genOperator {
	f32, f64 := string(rune(typeF32)), string(rune(typeF64))
	list := genJoined(
		genRun("wrap", 0xa7, 0xa7, i64Value, typeI32, false),
		genRun("trunc", 0xa8, 0xa9, f32, typeI32, false),
		genRun("trunc", 0xaa, 0xab, f64, typeI32, false),
		genRun("extend", 0xac, 0xad, i32Value, typeI64, false),
		genRun("trunc", 0xae, 0xaf, f32, typeI64, false),
		genRun("trunc", 0xb0, 0xb1, f64, typeI64, false),
		genRun("convert", 0xb2, 0xb3, i32Value, typeF32, false),
		genRun("convert", 0xb4, 0xb5, i64Value, typeF32, false),
		genRun("demote", 0xb6, 0xb6, f64, typeF32, true),
		genRun("convert", 0xb7, 0xb8, i32Value, typeF64, false),
		genRun("convert", 0xb9, 0xba, i64Value, typeF64, false),
		genRun("promote", 0xbb, 0xbb, f32, typeF64, true),
		genRun("reinterpret", 0xbc, 0xbc, f32, typeI32, false),
		genRun("reinterpret", 0xbd, 0xbd, f64, typeI64, false),
		genRun("reinterpret", 0xbe, 0xbe, i32Value, typeF32, false),
		genRun("reinterpret", 0xbf, 0xbf, i64Value, typeF64, false),
	)
	for sub := range byte(8) { // to i32 first; two of each source
		to := []byte{typeI32, typeI64}[sub/4]
		list = append(list, genOperator{"trunc_sat", []byte{0xfc, sub}, []string{f32, f64}[sub/2%2], to, false})
	}
	return list
}

// genVectorOperators are a few of many: the same code reads and writes them all. None is of floats, because
// their NaNs would have to be settled lane by lane.
func genVectorOperators() []genOperator {
	v := string(rune(typeV128))
	vector := func(takes string, gives byte, code uint64, more ...byte) genOperator {
		return genOperator{"vector", append(append([]byte{0xfd}, leb(code)...), more...), takes, gives, false}
	}
	return []genOperator{
		vector(v, typeV128, 0x4d), // v128.not
		vector(v+v, typeV128, 0x0d, 0, 17, 2, 19, 4, 21, 6, 23, 31, 9, 10, 11, 12, 13, 14, 15), // i8x16.shuffle
		vector(i32Value, typeV128, 0x11),      // i32x4.splat
		vector(i64Value, typeV128, 0x12),      // i64x2.splat
		vector(v+i32Value, typeV128, 0x1c, 3), // i32x4.replace_lane
		vector(v+v, typeV128, 0x51),           // v128.xor
		vector(v+v+v, typeV128, 0x52),         // v128.bitselect
		vector(v+v, typeV128, 0x6e),           // i8x16.add
		vector(v+v, typeV128, 0x95),           // i16x8.mul
		vector(v+v, typeV128, 0xae),           // i32x4.add
		vector(v+i32Value, typeV128, 0xcb),    // i64x2.shl
		vector(v, typeI32, 0x53),              // v128.any_true
		vector(v, typeI32, 0x64),              // i8x16.bitmask
		vector(v, typeI32, 0x1b, 2),           // i32x4.extract_lane
		vector(v, typeI64, 0x1d, 1),           // i64x2.extract_lane
	}
}

// genAccess is a load or store: its instruction and the largest alignment that it may claim, as a power of two.
type genAccess struct {
	kind  string
	code  []byte
	align byte
	lane  bool // of a vector: one more byte, and a load takes the vector too
}

// genLoads and genStores are by the type of the value.
var (
	genLoads = map[byte][]genAccess{
		typeI32: {
			{"load32", []byte{0x28}, 2, false},
			{"load8", []byte{0x2c}, 0, false},
			{"load8", []byte{0x2d}, 0, false},
			{"load16", []byte{0x2e}, 1, false},
			{"load16", []byte{0x2f}, 1, false},
		},
		typeI64: {
			{"load64", []byte{0x29}, 3, false},
			{"load8", []byte{0x30}, 0, false},
			{"load8", []byte{0x31}, 0, false},
			{"load16", []byte{0x32}, 1, false},
			{"load16", []byte{0x33}, 1, false},
			{"load32", []byte{0x34}, 2, false},
			{"load32", []byte{0x35}, 2, false},
		},
		typeF32: {{"load32", []byte{0x2a}, 2, false}},
		typeF64: {{"load64", []byte{0x2b}, 3, false}},
		typeV128: {
			{"load128", []byte{0xfd, 0}, 4, false},
			{"load128 extending", []byte{0xfd, 1}, 3, false},
			{"load128 splat", []byte{0xfd, 9}, 2, false},
			{"load128 zero", []byte{0xfd, 0x5d}, 3, false},
			{"load128 lane", []byte{0xfd, 0x54}, 0, true},
		},
	}
	genStores = map[byte][]genAccess{
		typeI32: {{"store32", []byte{0x36}, 2, false}, {"store8", []byte{0x3a}, 0, false}, {"store16", []byte{0x3b}, 1, false}},
		typeI64: {
			{"store64", []byte{0x37}, 3, false},
			{"store8", []byte{0x3c}, 0, false},
			{"store16", []byte{0x3d}, 1, false},
			{"store32", []byte{0x3e}, 2, false},
		},
		typeF32:  {{"store32", []byte{0x38}, 2, false}},
		typeF64:  {{"store64", []byte{0x39}, 3, false}},
		typeV128: {{"store128", []byte{0xfd, 11}, 4, false}, {"store128 lane", []byte{0xfd, 0x59}, 1, true}},
	}
)
