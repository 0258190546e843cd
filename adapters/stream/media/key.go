package media

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// blocks decrypts whole blocks, each of which depends on the one before.
type blocks = cipher.BlockMode

// cbc fetches a key, once for all that is encrypted with it, and is set to
// decrypt what follows its initialisation vector.
func (f *fetch) cbc(key watch.Key) (blocks, error) {
	if len(key.IV) != aes.BlockSize {
		return nil, watch.NewFailure(watch.FailureMalformed, "an initialisation vector of %d bytes, not %d", len(key.IV), aes.BlockSize)
	}
	secret, ok := f.keys[key.URI]
	if !ok {
		var err error
		if secret, err = f.key(key.URI); err != nil {
			return nil, err
		}
		f.keys[key.URI] = secret
	}
	cipherOf, err := aes.NewCipher(secret)
	if err != nil {
		return nil, watch.NewFailure(watch.FailureMalformed, "%v", err)
	}
	return cipher.NewCBCDecrypter(cipherOf, key.IV), nil
}

// key gets the bytes of a key. What has another length is none: an error's page,
// most likely.
func (f *fetch) key(url string) ([]byte, error) {
	a, err := f.open(url, nil, MaxKey)
	var secret []byte
	if err == nil {
		secret, err = a.readAll(a)
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
