package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// mp4Box returns a box (ISO/IEC 14496-12, 4.2).
func mp4Box(kind string, content ...[]byte) []byte {
	all := bytes.Join(content, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(all))), kind...), all...)
}

func u32(numbers ...uint32) (b []byte) {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// findBox returns the first box of a kind, with its header.
func findBox(t *testing.T, file []byte, kind string) []byte {
	t.Helper()
	i := bytes.Index(file, []byte(kind))
	if i < 4 {
		t.Fatalf("no %s", kind)
	}
	n := int(binary.BigEndian.Uint32(file[i-4:]))
	if n < 8 || i-4+n > len(file) {
		t.Fatalf("%s has %d bytes", kind, n)
	}
	return file[i-4 : i-4+n]
}

// patchBoxes overwrites bytes in every box of a kind, at an offset after the box type.
func patchBoxes(t *testing.T, file []byte, kind string, after int, with ...byte) []byte {
	t.Helper()
	file = bytes.Clone(file)
	found := false
	for at := 0; ; {
		i := bytes.Index(file[at:], []byte(kind))
		if i < 0 {
			break
		}
		at += i + len(kind)
		found = copy(file[min(at+after, len(file)):], with) == len(with) || found
	}
	if !found {
		t.Fatalf("no %s", kind)
	}
	return file
}

// replaceBox replaces a box and corrects the sizes of its parents, which are named from
// the outside in.
func replaceBox(t *testing.T, file []byte, kind string, with []byte, around ...string) []byte {
	t.Helper()
	old := findBox(t, file, kind)
	at := bytes.Index(file, []byte(kind)) - 4
	out := bytes.Join([][]byte{file[:at], with, file[at+len(old):]}, nil)
	for _, name := range around {
		i := bytes.Index(out, []byte(name)) - 4
		binary.BigEndian.PutUint32(out[i:], binary.BigEndian.Uint32(out[i:])+uint32(len(with)-len(old)))
	}
	return out
}

// tsSection returns the packets of a table of MPEG-TS (ISO/IEC 13818-1, 2.4.4).
func tsSection(pid, table, extension, version int, body []byte) (out []byte) {
	length := 5 + len(body) + 4
	s := append([]byte{byte(table), 0xb0 | byte(length>>8), byte(length), byte(extension >> 8), byte(extension), 0xc1 | byte(version&31)<<1, 0, 0}, body...)
	s = binary.BigEndian.AppendUint32(s, tsCRC(s))
	s = append([]byte{0}, s...) // pointer_field
	for i := 0; len(s) > 0; i++ {
		start := byte(0)
		if i == 0 {
			start = 0x40
		}
		n := min(len(s), packetSize-4)
		p := append([]byte{0x47, start | byte(pid>>8), byte(pid), 0x10 | byte(i&15)}, s[:n]...)
		out = append(out, append(p, bytes.Repeat([]byte{0xff}, packetSize-len(p))...)...)
		s = s[n:]
	}
	return out
}

const packetSize = 188

// tsCRC returns the CRC of a table (ISO/IEC 13818-1, annex A).
func tsCRC(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c) << 24
		for range 8 {
			carry := sum >> 31
			sum = sum<<1 ^ 0x04c11db7*carry
		}
	}
	return sum
}

// programAssociationTable lists programs. The map table of program i has the packet
// identifier first+i.
func programAssociationTable(first, count, version int) (body []byte) {
	for i := range count {
		body = append(body, byte(i>>8), byte(i+1), 0xe0|byte((first+i)>>8), byte(first+i))
	}
	return tsSection(0, 0, 1, version, body)
}

// programMapTable lists tracks of one type, with packet identifiers from first on.
func programMapTable(pid, program int, kind byte, first, count, version int) []byte {
	body := []byte{0xe0 | byte(first>>8&0x1f), byte(first), 0xf0, 0}
	for i := range count {
		p := first + i
		body = append(body, kind, 0xe0|byte(p>>8&0x1f), byte(p), 0xf0, 0)
	}
	return tsSection(pid, 2, program, version, body)
}
