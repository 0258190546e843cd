package livestream

import "encoding/binary"

// MPEG-TS (ISO/IEC 13818-1) with one program of H.264 and AAC.
const (
	packetSize = 188
	patPID     = 0
	pmtPID     = 0x1000
	videoPID   = 0x100
	audioPID   = 0x101

	typeAAC  = 0x0f
	typeH264 = 0x1b

	pesHeader = 14        // bytes before the data; they stay in one packet
	clockLead = ticks / 2 // from a PCR to the timestamp of the same packet
)

// sample is an access unit, or an audio frame, with its time in ticks.
type sample struct {
	at   int64
	data []byte
	key  bool
}

// mux returns segment n: the tables, then both tracks in the order of time. The
// continuity counters continue from one segment to the next. For that, every segment
// has the tables once, and a multiple of 16 packets of each track. The 4-bit counter
// of a track is then 0 again.
func mux(n int64, video, audio []sample) []byte {
	tables := byte(n & 0x0f)
	w := &tsWriter{counters: map[int]byte{patPID: tables, pmtPID: tables}, clock: videoPID}
	if len(video) == 0 {
		w.clock = audioPID
	}
	w.tables(len(video) > 0, len(audio) > 0)
	videoPES, audioPES := w.track(videoPID, 0xe0, video), w.track(audioPID, 0xc0, audio)
	for len(videoPES) > 0 || len(audioPES) > 0 {
		if len(audioPES) == 0 || (len(videoPES) > 0 && videoPES[0].at <= audioPES[0].at) {
			w.pes(videoPES[0])
			videoPES = videoPES[1:]
			continue
		}
		w.pes(audioPES[0])
		audioPES = audioPES[1:]
	}
	return w.out
}

type tsWriter struct {
	out      []byte
	counters map[int]byte // continuity, per PID
	clock    int          // the PID with the PCR
}

// tables writes the program association and program map tables.
func (w *tsWriter) tables(video, audio bool) {
	w.section(patPID, []byte{
		0x00, 0xb0, 0, 0x00, 0x01, 0xc1, 0x00, 0x00, // one program, number 1
		0x00, 0x01, 0xe0 | pmtPID>>8, pmtPID & 0xff,
	})
	pmt := []byte{
		0x02, 0xb0, 0, 0x00, 0x01, 0xc1, 0x00, 0x00,
		0xe0 | byte(w.clock>>8), byte(w.clock), 0xf0, 0x00,
	}
	if video {
		pmt = append(pmt, typeH264, 0xe0|videoPID>>8, videoPID&0xff, 0xf0, 0x00)
	}
	if audio {
		pmt = append(pmt, typeAAC, 0xe0|audioPID>>8, audioPID&0xff, 0xf0, 0x00)
	}
	w.section(pmtPID, pmt)
}

// section writes a table that fits one packet, with its length and checksum.
func (w *tsWriter) section(pid int, table []byte) {
	table[2] = byte(len(table) - 3 + 4)
	table = binary.BigEndian.AppendUint32(table, crc32MPEG(table))
	p := append(w.header(pid, true, false), 0) // pointer: the table starts here
	p = append(p, table...)
	for len(p) < packetSize {
		p = append(p, 0xff)
	}
	w.out = append(w.out, p...)
}

// pes is a PES packet before it is split into transport packets.
type pes struct {
	at      int64
	pid     int
	field   []byte // adaptation field of the first packet, without its length
	payload []byte
	split   bool // write the last packet as two
}

// track returns the PES packets of one track, which fill a multiple of 16 packets.
func (w *tsWriter) track(pid int, stream byte, samples []sample) []pes {
	list, packets := make([]pes, len(samples)), 0
	for i, s := range samples {
		p := pes{at: s.at, pid: pid, payload: []byte{0, 0, 1, stream, 0, 0, 0x84, 0x80, 5}}
		if n := len(s.data) + 8; stream == 0xc0 && n <= 0xffff {
			binary.BigEndian.PutUint16(p.payload[4:], uint16(n))
		}
		p.payload = append(appendPTS(p.payload, s.at), s.data...)
		if s.key {
			p.field = []byte{0x40}
		}
		if pid == w.clock {
			if p.field == nil {
				p.field = []byte{0}
			}
			p.field[0] |= 0x10
			p.field = appendPCR(p.field, s.at-clockLead)
		}
		full, _ := p.shape()
		packets += full + 1
		list[i] = p
	}
	for i := 0; i < len(list) && packets%16 != 0; i++ {
		full, rest := list[i].shape()
		if rest > pesHeader || (full > 0 && rest > 1) {
			list[i].split = true
			packets++
		}
	}
	return list
}

// shape returns how many packets the sample fills, and how many bytes of the payload
// remain for a last one.
func (p pes) shape() (full, rest int) {
	used := len(p.payload)
	if p.field != nil {
		used += 1 + len(p.field)
	}
	full = (used - 1) / (packetSize - 4)
	rest = used - full*(packetSize-4)
	return full, min(rest, len(p.payload))
}

// pes writes one sample.
func (w *tsWriter) pes(p pes) {
	full, rest := p.shape()
	sizes := make([]int, 0, full+2)
	for range full {
		sizes = append(sizes, len(p.payload)) // as much as fits
	}
	if p.split {
		sizes = append(sizes, rest-1)
	}
	sizes = append(sizes, len(p.payload))
	for i, limit := range sizes {
		start := i == 0
		if !start {
			p.field = nil
		}
		n := w.packet(p.pid, start, p.field, p.payload[:min(limit, len(p.payload))])
		p.payload = p.payload[n:]
	}
}
