package sandbox

import "fmt"

// Bounds of what compiling may cost. For some shapes wazero's compiler takes far more than in
// proportion to the bytes: 12 kB can take 12 seconds, 44 kB 640 MB. It does not look at its context, so a
// module is measured by its instructions and refused before it is compiled. The measures follow
// wazero 1.12.0 on amd64; complexity_test.go holds the shapes behind them. When wazero changes,
// run that test with TOOLHOST_NIGHTLY=1.
const (
	// maxCompile bounds a module, in estimated nanoseconds: goja compiled by Go has 6.3e9 and takes 3.8 s.
	maxCompile = 8_000_000_000
	// maxProducts bounds the part of it that grows with products, blocks times variables and the like,
	// which is known less well: goja has 1.5e9, mostly of [bodyCost.aliases].
	maxProducts = 3_000_000_000
	// maxStraight bounds what grows with the instructions of one function, in estimated nanoseconds,
	// and so the compiler's memory: up to 3.5 bytes for each. Go's largest function in goja has 0.02e9.
	maxStraight = 150_000_000
	// maxBlocks bounds the basic blocks of one function: 2,500 bytes each, and as deep a recursion.
	maxBlocks = 50_000
	// maxLive bounds the values that live in each basic block of one function, added up: 27 bytes each.
	maxLive = 4_000_000
)

// Nanoseconds that the compiler takes for one of each, in a function that fits the processor's caches.
const (
	compilePlain    = 100    // local.get, const, drop, a target of br_table
	compileNumeric  = 300    // what becomes one or two instructions of the machine
	compileMany     = 1_500  // what becomes ten or more: calls, conversions, SIMD
	compileTrap     = 3_000  // what may trap: memory accesses, divisions, truncations
	compileBulk     = 8_000  // memory.copy and its like
	compileArg      = 200    // a value handed over by a call or a branch
	compileReload   = 150    // a mutable global after a call: each is loaded again after each call
	compileBlock    = 1_000  // a basic block
	compileFunction = 12_000 // an empty function with its charge
	compileType     = 30_000 // a function type: its entry code
	// Each function visits all types, globals and imports of the module: 60,000 by 18,000 take 7 s.
	compileVisit = 6
	// Beyond roomyWork a function no longer fits the caches, and what is beyond costs four times as much.
	roomyWork = 4_000_000
	roomyCost = 4
)

// complexity adds up what compiling one module costs. Call function, then a method for each
// instruction in order, the last end included, then finish. Numbers of blocks and values are upper
// bounds. It trusts nothing: code that is not valid gives some sum and no panic.
type complexity struct {
	visits  int // types, globals and imports
	mutable int // globals
	number  int // of functions begun
	work    int // of the functions finished
	product int // the part of it that is products

	body bodyCost
}

// bodyCost is the sum over one function.
type bodyCost struct {
	visits    int // as of the module
	variables int // parameters and locals
	mutable   int // globals, as of the module
	frames    []frame
	here      point
	height    int // of the operand stack
	highest   int
	dead      int // depth of blocks inside code that is never reached; 0: reached
	loops     int
	maxLoops  int

	straight int // nanoseconds, in proportion to the instructions
	blocks   int // basic blocks
	live     int // variables, operands and known bounds, in each basic block
	depths   int // depths in the dominator tree, of each block and edge: each walks up to the root
	lookups  int // blocks that the search for a variable's value passes
	phis     int // of each edge the square of its variables: each argument is resolved for each
	arrivals int // of each edge the edges to the same block before it: each is compared
	aliases  int // values that only stand for another
	uses     int // of values: each may walk along all aliases
	walks    int // known bounds at each call: all are reset

	// What the native stack of a call depends on (stackcost.go).
	calls, sets int // calls, and settings of locals
	merged      int // of each loop the locals that are set in it
	handed      int // the most values that a call takes and gives
	fixed       int // reads of immutable globals
	vectors     bool
}

// point is where the walk stands in the graph of basic blocks.
type point struct {
	chain int // blocks since the last one that ends a search for a variable
	depth int // in the dominator tree
	known int // memory bounds that need no check any more; blocks hand them on as a list
}

func (p *point) step() {
	p.chain++
	p.depth++
}

// frame is a block of the source that is open.
type frame struct {
	op              uint16
	params, results int
	base            int // height of the operand stack below its parameters
	edges           int // to its label
	sets            int // of locals, within
	start, target   point
}

func (s *sections) newComplexity() *complexity {
	return &complexity{
		visits:  len(s.types) + len(s.globals) + len(s.imports),
		mutable: s.mutableGlobals() + 1, // rewriting adds two, and reads one of them
		work:    len(s.types) * compileType,
	}
}

// measure adds up a function that was read, and keeps the first reason not to compile the module.
func (s *sections) measure(c *complexity, typ uint32, body *code) {
	sig := s.types[typ]
	immutable := len(s.globals) + 1 - c.mutable
	c.function(len(sig.params), len(sig.results), body.locals-len(sig.params))
	for n := range body.instructions {
		c.instruction(s, body, &body.instructions[n])
	}
	c.body.vectors = c.body.vectors || s.vectors || body.vectors
	s.frames = append(s.frames, c.body.frameSize(immutable))
	s.leaves = append(s.leaves, leaf(body, s.imported(kindFunction)))
	if err := c.finish(); err != nil && s.tooDear == nil {
		s.tooDear = err
	}
}

// function begins the next function, with its parameters, results and locals.
func (c *complexity) function(params, results, locals int) {
	c.number++
	frames := append(c.body.frames[:0], frame{results: results})
	b := bodyCost{variables: params + locals + 1, frames: frames} // rewriting adds one
	b.visits, b.mutable = c.visits, c.mutable
	b.straight = compileFunction + (params+locals)*compilePlain + (params+results)*compileArg
	b.straight += b.mutable * compileReload // after the look at its entry
	b.add(4)                                // with the charge there
	c.body = b
}

// finish ends the function and says what is too much. Functions are numbered from 0, imports not counted.
func (c *complexity) finish() error {
	b, n := &c.body, c.number-1
	straight, product := b.work()
	c.work += straight + product
	c.product += product
	switch {
	case b.blocks > maxBlocks:
		return fmt.Errorf("function %d has %d basic blocks or more, at most %d are allowed", n, b.blocks, maxBlocks)
	case b.live > maxLive:
		return fmt.Errorf("function %d has %d values that live in its basic blocks, each counted in each, at most %d are allowed",
			n, b.live, maxLive)
	case b.linear() > maxStraight:
		return fmt.Errorf("function %d has instructions of %d units of the compiler's work, at most %d are allowed",
			n, b.linear(), maxStraight)
	case c.product > maxProducts:
		return fmt.Errorf("the functions up to %d take %d units of the compiler's work for %s and the like, at most %d are allowed",
			n, c.product, b.most(), int64(maxProducts))
	case c.work > maxCompile:
		return fmt.Errorf("the functions up to %d take %d units of the compiler's work, at most %d are allowed",
			n, c.work, int64(maxCompile))
	}
	return nil
}

func (b *bodyCost) linear() int { return b.straight + b.blocks*compileBlock }

// part is a product that the compiler's time grows with.
type part struct {
	name string
	work int
}

func (b *bodyCost) products() []part {
	return []part{
		{"the nesting of basic blocks", 15 * b.depths},
		{"values that live in many basic blocks", 30 * b.live},
		{"variables read across basic blocks", 11 * b.lookups},
		{"variables at branches", b.phis * (b.maxLoops + 3) / 6},
		{"branches to one block", b.arrivals / 2},
		{"uses of aliases", b.aliases * b.uses},
		{"memory accesses before calls", b.walks},
		{"types, globals and imports for each function", compileVisit * b.visits},
	}
}

func (b *bodyCost) work() (straight, product int) {
	straight = b.linear()
	straight += (roomyCost - 1) * max(0, straight-roomyWork)
	for _, p := range b.products() {
		product += p.work
	}
	return straight, product
}

// most names the largest product.
func (b *bodyCost) most() string {
	var most part
	for _, p := range b.products() {
		if p.work >= most.work {
			most = p
		}
	}
	return most.name
}

// compileCosts is what an instruction of one byte takes the compiler (core specification, section 5.4).
var compileCosts = func() (t [256]uint16) {
	set := func(cost uint16, from, to int) {
		for i := from; i <= to; i++ {
			t[i] = cost
		}
	}
	set(compilePlain, 0x00, 0x44)
	set(compileNumeric, 0x45, 0xff)
	set(compileNumeric, 0x1b, 0x1c) // select
	set(compileTrap, 0x25, 0x26)    // table.get, table.set
	set(compileTrap, 0x28, 0x3e)    // loads and stores
	set(compileTrap, 0x40, 0x40)    // memory.grow
	set(compileTrap, 0x6d, 0x70)    // i32.div and i32.rem
	set(compileTrap, 0x7f, 0x82)    // i64.div and i64.rem
	set(compileMany, 0x96, 0x98)    // f32.min, f32.max, f32.copysign
	set(compileMany, 0xa4, 0xa6)    // the same of f64
	set(compileTrap, 0xa8, 0xab)    // i32.trunc
	set(compileTrap, 0xae, 0xb1)    // i64.trunc
	set(compileMany, 0xb2, 0xbb)    // conversions to floating point
	set(compileMany, 0xd2, 0xd2)    // ref.func
	return t
}()
