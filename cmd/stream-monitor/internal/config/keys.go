package config

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

// Keys holds the three keys of section 14.2.
type Keys struct {
	API      string
	Signing  webhook.Keys
	Internal string
}

// Limits of the key file.
const (
	keyBytes    = 32 // random bytes in a generated key
	maxKeysFile = 16 << 10
	dirMode     = 0o700
	fileMode    = 0o600
)

// KeysFile is the JSON of generated keys. Its members have the names of the
// variables that they replace.
type KeysFile struct {
	API      string `json:"API_KEY"`
	Signing  string `json:"WEBHOOK_SIGNING_KEY"`
	Internal string `json:"INTERNAL_API_KEY"`
}

// KeysPath returns the path of the file with the generated keys.
func KeysPath(dataDir string) string { return filepath.Join(dataDir, "keys.json") }

// LoadKeys completes the given keys with those stored in dataDir. If none are
// stored, it generates them and reports generated (decision P4). Several processes
// may call it at once: all get the same keys. It refuses a file that other users
// can read. Errors name the file and what to do.
func LoadKeys(dataDir string, given KeyFlags) (keys Keys, generated bool, err error) {
	keys = Keys{API: given.APIKey, Signing: given.WebhookSigningKey, Internal: given.InternalAPIKey}
	if keys.API != "" && len(keys.Signing) > 0 && keys.Internal != "" {
		return keys, false, nil
	}
	path := KeysPath(dataDir)
	kept, err := ReadKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if generated, err = storeKeys(path, generateKeys()); err == nil {
			kept, err = ReadKeys(path)
		}
	}
	if err != nil {
		return Keys{}, false, err
	}
	if keys.API == "" {
		keys.API = kept.API
	}
	if len(keys.Signing) == 0 {
		if keys.Signing, err = webhook.ParseKeys(kept.Signing); err != nil {
			return Keys{}, false, fmt.Errorf("WEBHOOK_SIGNING_KEY in %s: %w", path, err)
		}
	}
	if keys.Internal == "" {
		keys.Internal = kept.Internal
	}
	return keys, generated, nil
}

func generateKeys() KeysFile {
	key := func() string {
		random := make([]byte, keyBytes)
		_, _ = rand.Read(random) // never fails: it ends the program instead
		return hex.EncodeToString(random)
	}
	return KeysFile{API: key(), Signing: key(), Internal: key()}
}

// ReadKeys reads a file of keys. Errors: fs.ErrNotExist; otherwise what is wrong
// with the file and how to repair it.
func ReadKeys(path string) (KeysFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return KeysFile{}, fmt.Errorf("read keys: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return KeysFile{}, fmt.Errorf("%s can be read by others (mode %04o); if nobody has, run: chmod 600 %s; else remove it and give the new keys to all who need them",
			path, info.Mode().Perm(), path)
	}
	if info.Size() > maxKeysFile {
		return KeysFile{}, fmt.Errorf("%s has %d bytes; a file of keys has a few hundred", path, info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return KeysFile{}, fmt.Errorf("read keys: %w", err)
	}
	var kept KeysFile
	if err := json.Unmarshal(raw, &kept); err != nil {
		return KeysFile{}, fmt.Errorf("%s is not a file of keys (%w); remove it to have new ones generated", path, err)
	}
	if kept.API == "" || kept.Signing == "" || kept.Internal == "" {
		return KeysFile{}, fmt.Errorf("%s lacks one of API_KEY, WEBHOOK_SIGNING_KEY, INTERNAL_API_KEY; remove it to have new ones generated", path)
	}
	return kept, nil
}

// storeKeys writes keys to path, completely or not at all. It leaves an existing
// file as it is and then reports stored as false.
func storeKeys(path string, keys KeysFile) (stored bool, err error) {
	raw, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return false, fmt.Errorf("encode keys: %w", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return false, fmt.Errorf("make the data directory: %w", err)
	}
	temp, err := os.CreateTemp(dir, ".keys-*") // mode 0600
	if err != nil {
		return false, fmt.Errorf("store keys: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(append(raw, '\n'))
	err = errors.Join(err, temp.Chmod(fileMode), temp.Sync(), temp.Close())
	if err != nil {
		return false, fmt.Errorf("store keys: %w", err)
	}
	// Unlike a rename, a link does not replace what another process stored first.
	switch err := os.Link(temp.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("store keys: %w", err)
	}
	return true, nil
}
