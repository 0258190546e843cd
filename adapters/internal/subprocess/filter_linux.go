package subprocess

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// callRule is a rule for a system call. It applies if all of its tests hold.
type callRule struct {
	call    uint32
	tests   []argumentTest
	verdict uint32 // of newFilter
}

// argumentTest compares the lower 32 bits of an argument, because the kernel ignores the others in what
// is tested here.
type argumentTest struct {
	argument uint32 // its index
	mask     uint32
	values   []uint32
	differs  bool // the masked argument must be none of the values, rather than one of them
}

// always returns rules for calls with any arguments.
func always(calls ...uint32) (rules []callRule) {
	for _, call := range calls {
		rules = append(rules, callRule{call: call})
	}
	return rules
}

// with returns a rule for a call whose masked argument has one of these values.
func with(call, argument, mask uint32, values ...uint32) callRule {
	return callRule{call: call, tests: []argumentTest{{argument, mask, values, false}}}
}

// withBits returns a rule for a call whose argument has all of these bits.
func withBits(call, argument, bits uint32) callRule { return with(call, argument, bits, bits) }

// unless returns a rule for a call whose masked argument has none of these values.
func unless(call, argument, mask uint32, values ...uint32) callRule {
	return callRule{call: call, tests: []argumentTest{{argument, mask, values, true}}}
}

const wholeArgument = ^uint32(0)

// filterProgram is a filter for seccomp(2). It refuses with an error and never kills, so that a new C
// library ends no watch. It is no policy of go-seccomp-bpf, which compares 64 bits: a call passes whose
// upper bits are rubbish. The table of that library lacks file_setattr, too.
type filterProgram []unix.SockFilter

const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jump     = unix.BPF_JMP | unix.BPF_JA
	give     = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data.
	callNumber, architecture, firstArgument = 0, 4, 16

	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // a library tries an older call
)

// newFilter returns a program that gives verdict to the calls of the rules, and other to the rest. The program
// refuses as unknown every call that hides its arguments, is newer than the newest it knows, or is of another ABI.
func newFilter(rules []callRule, verdict, other uint32) filterProgram {
	all := slices.Concat(hiddenCalls, rules)
	for i := range all {
		all[i].verdict = verdict
		if i < len(hiddenCalls) {
			all[i].verdict = unknown
		}
	}
	slices.SortStableFunc(all, func(a, b callRule) int { return cmp.Compare(a.call, b.call) })
	p, _ := search(ranges(all, other), nil)
	return slices.Concat(filterProgram{
		{Code: loadWord, K: architecture},
		{Code: ifEqual, K: auditArch, Jt: 1},
		{Code: give, K: unknown},
		{Code: loadWord, K: callNumber},
	}, p)
}

// callRange is the calls from a number on, up to the next range. They get the answer of a program.
type callRange struct {
	first  uint32
	answer filterProgram
}

// ranges returns the ranges of rules, which are sorted by call.
func ranges(rules []callRule, other uint32) (all []callRange) {
	add := func(first uint32, answer filterProgram) {
		if len(all) == 0 || !slices.Equal(all[len(all)-1].answer, answer) {
			all = append(all, callRange{first, answer})
		}
	}
	next := uint32(0)
	for len(rules) > 0 {
		call, n := rules[0].call, 0
		var answer filterProgram
		for ; n < len(rules) && rules[n].call == call; n++ {
			answer = append(answer, rules[n].compile()...)
		}
		if len(rules[n-1].tests) > 0 {
			answer = append(answer, unix.SockFilter{Code: give, K: other})
		}
		if call > next {
			add(next, filterProgram{{Code: give, K: other}})
		}
		add(call, answer)
		next, rules = call+1, rules[n:]
	}
	if firstUnknown > next {
		add(next, filterProgram{{Code: give, K: other}})
	}
	add(firstUnknown, filterProgram{{Code: give, K: unknown}})
	return all
}

// search puts a binary search for the range of a call before the instructions that follow, and returns where it begins.
// It uses an answer among them again. At each launch the kernel compiles the program, and tries it with all of its 470 calls.
func search(all []callRange, following filterProgram) (p filterProgram, begin int) {
	if len(all) == 1 {
		answer := all[0].answer
		near := following[:min(len(following), math.MaxUint8)] // as far as a branch reaches
		if at := slices.Index(near, answer[0]); len(answer) == 1 && at >= 0 {
			return following, at
		}
		return slices.Concat(answer, following), 0
	}
	middle := len(all) / 2
	right, above := search(all[middle:], following)
	p, below := search(all[:middle], right)
	above += len(p) - len(right)
	if above > math.MaxUint8 {
		p = slices.Concat(filterProgram{{Code: jump, K: uint32(above)}}, p) //nolint:gosec // some hundred
		above, below = 0, below+1
	}
	branch := unix.SockFilter{Code: atLeast, K: all[middle].first, Jt: uint8(above), Jf: uint8(below)} //nolint:gosec // limited
	return slices.Concat(filterProgram{branch}, p), 0
}

// compile returns the instructions of a rule. After them comes what is done if it does not apply.
func (r callRule) compile() filterProgram {
	p := filterProgram{{Code: give, K: r.verdict}}
	for _, t := range slices.Backward(r.tests) {
		test := filterProgram{{Code: loadWord, K: firstArgument + 8*t.argument}} // little-endian: the lower half
		if t.mask != wholeArgument {
			test = append(test, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask})
		}
		for i, value := range t.values {
			left := uint8(len(t.values) - i - 1) //nolint:gosec // some values
			failed := left + uint8(len(p))       //nolint:gosec // some tests
			compare := unix.SockFilter{Code: ifEqual, K: value, Jt: left}
			if t.differs {
				compare.Jt = failed
			} else if left == 0 {
				compare.Jf = failed
			}
			test = append(test, compare)
		}
		p = append(test, p...)
	}
	return p
}

// encode returns the program as the kernel reads it.
func (p filterProgram) encode() (body []byte) {
	for _, i := range p {
		body = binary.NativeEndian.AppendUint16(body, i.Code)
		body = append(body, i.Jt, i.Jf)
		body = binary.NativeEndian.AppendUint32(body, i.K)
	}
	return body
}

// filter returns what limits the system calls of a tool. Programs are not refused by it, since the launch
// itself executes one (see Confinement.reachable).
func (c *Confinement) filter(means kernelMeans, path string) []step {
	if !means.seccomp {
		return nil
	}
	var program filterProgram
	switch {
	case c.Network:
		program = newFilter(slices.Concat(refusedCalls, internetOnly), refused, allowed)
	case IsScript(path):
		program = newFilter(slices.Concat(refusedCalls, noSockets), refused, allowed)
	default:
		program = newFilter(analysingCalls, allowed, unknown)
	}
	return []step{{stepFilter, "seccomp", program.encode()}}
}
