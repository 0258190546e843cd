package media

import (
	"bytes"
	"crypto/aes"
	"errors"
	"io"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// decrypted takes AES in CBC mode and its padding (RFC 8216, 4.3.2.4; RFC 5652,
// 6.3) off what it reads. It keeps no more than buffer. Errors of Read stay.
type decrypted struct {
	from io.Reader
	mode blocks
	host string // for failures

	buffer [16 << 10]byte
	plain  []byte // of buffer, not yet handed on
	rest   []byte // of buffer, not yet decrypted, after plain
	err    error
}

// Read implements io.Reader.
func (d *decrypted) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(d.plain) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.plain)
	d.plain = d.plain[n:]
	return n, nil
}

// fill reads on and decrypts what it can. The last block is kept back until it
// is known whether it is the last, because of its padding.
func (d *decrypted) fill() {
	kept := copy(d.buffer[:], d.rest)
	n, err := d.from.Read(d.buffer[kept:])
	all := d.buffer[:kept+n]
	last := errors.Is(err, io.EOF)
	whole := len(all) / aes.BlockSize * aes.BlockSize
	switch {
	case last && (whole == 0 || whole < len(all)):
		d.err = watch.NewFailure(watch.FailureTruncated, "%s: what is encrypted does not end with a whole block", d.host)
		whole = 0
	case err != nil:
		d.err = err
	}
	if !last && whole > 0 && whole == len(all) {
		whole -= aes.BlockSize
	}
	d.plain, d.rest = all[:whole], all[whole:]
	d.mode.CryptBlocks(d.plain, d.plain)
	if last && whole > 0 {
		d.trim()
	}
}

// trim takes the padding off the end: n bytes of the value n. It tells a wrong
// key all but once in 256 times.
func (d *decrypted) trim() {
	n := int(d.plain[len(d.plain)-1])
	end := len(d.plain) - n
	if n < 1 || n > aes.BlockSize || !bytes.Equal(d.plain[end:], bytes.Repeat([]byte{byte(n)}, n)) {
		d.err = watch.NewFailure(watch.FailureUndecodable, "%s: decrypted, it does not end as it has to: the wrong key, perhaps", d.host)
		end = max(len(d.plain)-aes.BlockSize, 0)
	}
	d.plain = d.plain[:end]
}
