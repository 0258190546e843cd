// Package secretbox encrypts secrets for the database, with AES-256-GCM. Destinations and streams have some (section
// 19.1). Others are cookie jars (section 17.7), logins of owners (decision S24), the key of sessions (section 18.2) and
// snapshots of workers (decision S11). A sealed secret is
//
//	version (1 byte) | key id (4 bytes) | nonce (12 bytes) | ciphertext and tag
//
// The tag also covers version, key id and the id of the row. A secret that was altered, or
// copied to another row, does not open.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxKeys is the maximum of keys that ParseKeys reads: the one that encrypts and older ones.
const MaxKeys = 4

const (
	version     = 1
	keyBytes    = 32 // AES-256
	keyIDBytes  = 4
	headerBytes = 1 + keyIDBytes
)

// Keys are the keys of SECRETS_KEY. The first encrypts, all decrypt.
type Keys []string

var keyForm = regexp.MustCompile(`^[!-+\--~]{16,256}$`)

// ParseKeys reads keys separated by commas.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		if !keyForm.MatchString(key) || len(keys) == MaxKeys {
			return nil, fmt.Errorf("accepted are 1 to %d keys, separated by commas, each of 16 to 256 ASCII letters, digits and signs, without spaces", MaxKeys)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Box encrypts and decrypts. It may be used concurrently.
type Box struct{ keys []key }

type key struct {
	header []byte // version and key id
	aead   cipher.AEAD
}

// New makes a Box. Errors: there is no key.
func New(keys Keys) (*Box, error) {
	if len(keys) == 0 {
		return nil, errors.New("SECRETS_KEY is missing: it encrypts secrets in the database")
	}
	box := &Box{}
	for _, text := range keys {
		k, err := newKey(text)
		if err != nil {
			return nil, fmt.Errorf("a key of SECRETS_KEY: %w", err)
		}
		box.keys = append(box.keys, k)
	}
	return box, nil
}

// newKey derives a key and its id from a text. The id does not give the text away.
func newKey(text string) (key, error) {
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, "stream-monitor secrets v1: key", keyBytes)
	if err != nil {
		return key{}, err
	}
	id, err := hkdf.Key(sha256.New, []byte(text), nil, "stream-monitor secrets v1: key id", keyIDBytes)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{header: append([]byte{version}, id...), aead: aead}, err
}

// additionalData is what the tag covers beside the ciphertext.
func (k key) additionalData(rowID string) []byte { return append(slices.Clone(k.header), rowID...) }

// Seal encrypts text with the first key for the row with the given id.
func (b *Box) Seal(text []byte, rowID string) ([]byte, error) {
	first := b.keys[0]
	return first.aead.Seal(slices.Clone(first.header), nil, text, first.additionalData(rowID)), nil //nolint:gosec // the AEAD makes a random nonce
}

// Open decrypts what Seal made for the same row. current is false if another key than the
// first opened it. Errors: no key of SECRETS_KEY has its id; it was altered, or is of another row.
func (b *Box) Open(sealed []byte, rowID string) (text []byte, current bool, err error) {
	if len(sealed) < headerBytes || sealed[0] != version {
		return nil, false, errors.New("it was not encrypted by this version of the gateway")
	}
	known := false
	for i, k := range b.keys {
		if !slices.Equal(k.header, sealed[:headerBytes]) {
			continue
		}
		known = true
		if text, err := k.aead.Open(nil, nil, sealed[headerBytes:], k.additionalData(rowID)); err == nil {
			return text, i == 0, nil
		}
	}
	if !known {
		return nil, false, fmt.Errorf("no key of SECRETS_KEY has encrypted it: its key has the id %x", sealed[1:headerBytes])
	}
	return nil, false, errors.New("it was altered, or copied from another row")
}
