package media

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"
	"net/http"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// cbcDecrypter fetches the key, unless this call has it already, and returns the
// cipher at its initialization vector.
func (f *fetch) cbcDecrypter(key watch.Key) (cipher.BlockMode, error) {
	if len(key.IV) != aes.BlockSize {
		return nil, watch.NewFailure(watch.FailureMalformed, "an initialization vector of %d bytes, not %d", len(key.IV), aes.BlockSize)
	}
	secret, ok := f.keys[key.URI]
	if !ok {
		var err error
		if secret, err = f.fetchKey(key.URI); err != nil {
			return nil, err
		}
		f.keys[key.URI] = secret
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, watch.NewFailure(watch.FailureMalformed, "%v", err)
	}
	return cipher.NewCBCDecrypter(block, key.IV), nil
}

// fetchKey returns the bytes of a key. A body of another length is refused: it is
// most likely an error page.
func (f *fetch) fetchKey(url string) ([]byte, error) {
	r, err := f.request(http.MethodGet, url, nil, MaxKey)
	var secret []byte
	if err == nil {
		secret, err = r.readAll(r)
	}
	failure, failed := errors.AsType[*watch.Failure](err)
	switch {
	case failed && failure.Kind == watch.FailureTooLarge, err == nil && len(secret) != MaxKey:
		return nil, watch.NewFailure(watch.FailureMalformed, "a key that is not of %d bytes", MaxKey)
	case err != nil:
		return nil, err
	}
	return secret, nil
}

// decrypter reads from source, decrypts AES-CBC and removes the padding (RFC
// 8216, 4.3.2.4; RFC 5652, 6.3). It holds at most one buffer. Errors of Read are
// permanent.
type decrypter struct {
	source io.Reader
	mode   cipher.BlockMode
	host   string // for failures

	buffer    [16 << 10]byte
	plain     []byte // of buffer: decrypted, not read yet
	encrypted []byte // of buffer: after plain, not decrypted yet
	err       error
}

// Read implements io.Reader.
func (d *decrypter) Read(p []byte) (int, error) {
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

// fill reads from source once and decrypts whole blocks. It keeps the last block
// back until the source has ended, because the last one ends with padding.
func (d *decrypter) fill() {
	kept := copy(d.buffer[:], d.encrypted)
	n, err := d.source.Read(d.buffer[kept:])
	read := d.buffer[:kept+n]
	ended := errors.Is(err, io.EOF)
	size := len(read) / aes.BlockSize * aes.BlockSize
	switch {
	case ended && (size == 0 || size < len(read)):
		d.err = watch.NewFailure(watch.FailureTruncated, "%s: the encrypted data do not end with a whole block", d.host)
		size = 0
	case err != nil:
		d.err = err
	}
	if !ended && size > 0 && size == len(read) {
		size -= aes.BlockSize
	}
	d.plain, d.encrypted = read[:size], read[size:]
	d.mode.CryptBlocks(d.plain, d.plain)
	if ended && size > 0 {
		d.removePadding()
	}
}

// removePadding removes the padding from the end: n bytes of the value n. A wrong
// key leaves valid padding once in about 256 times.
func (d *decrypter) removePadding() {
	n := int(d.plain[len(d.plain)-1])
	end := len(d.plain) - n
	if n < 1 || n > aes.BlockSize || !bytes.Equal(d.plain[end:], bytes.Repeat([]byte{byte(n)}, n)) {
		d.err = watch.NewFailure(watch.FailureUndecodable, "%s: its padding is wrong after decryption, perhaps because of the wrong key", d.host)
		end = max(len(d.plain)-aes.BlockSize, 0)
	}
	d.plain = d.plain[:end]
}
