package subprocess

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// stepKind is what tool-launcher does in a step. Its source describes them.
type stepKind uint32

const (
	stepLimit stepKind = iota + 1
	stepOOMScore
	stepPrivileges
	stepRestrict
	stepFilter
)

// step is one thing that tool-launcher does before it executes a tool.
type step struct {
	kind stepKind
	name string // for the error, if it fails
	body []byte
}

// numbers returns a body of numbers of 64 bits.
func numbers(all ...uint64) (body []byte) {
	for _, n := range all {
		body = binary.NativeEndian.AppendUint64(body, n)
	}
	return body
}

// encode returns a plan as tool-launcher reads it.
func encode(plan []step) (text []byte) {
	for _, s := range plan {
		padding := -len(s.body) & 7 // numbers of 64 bits must be aligned
		text = binary.NativeEndian.AppendUint32(text, uint32(s.kind))
		text = binary.NativeEndian.AppendUint32(text, uint32(len(s.body)+padding)) //nolint:gosec // a path at most
		text = append(append(text, s.body...), make([]byte, padding)...)
	}
	return text
}

// stepError is a step that failed. It does not unwrap: EACCES of a step says nothing of the tool.
type stepError struct {
	kind  stepKind
	name  string
	errno syscall.Errno
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.errno) }

// failure returns the error that an answer of tool-launcher means. After an empty answer the tool runs.
func failure(plan []step, answer []byte) error {
	if len(answer) < 8 {
		return nil
	}
	number, errno := binary.NativeEndian.Uint32(answer), syscall.Errno(binary.NativeEndian.Uint32(answer[4:]))
	if int64(number) >= int64(len(plan)) { // the execution of the tool
		return errno
	}
	return &stepError{plan[number].kind, plan[number].name, errno}
}
