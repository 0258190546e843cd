package config

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// Keys holds the three keys of section 14.2 that the gateway uses, and the keys of links
// to evidence (section 16.2), configured or generated.
type Keys struct {
	API      string
	Signing  webhook.Keys
	Internal string
	Links    evidence.LinkKeys
}

// Limits of the key file.
const (
	keyBytes    = 32 // random bytes in a generated key
	maxKeysFile = 16 << 10
	dirMode     = 0o700
	fileMode    = 0o600
)

// StoredKeys is the content of the key file, in JSON. Each member has the name of the
// environment variable that it replaces.
type StoredKeys struct {
	API      string `json:"API_KEY"`
	Signing  string `json:"WEBHOOK_SIGNING_KEY"`
	Internal string `json:"INTERNAL_API_KEY"`
	Link     string `json:"EVIDENCE_LINK_KEY,omitempty"` // missing in files of older versions
}

// KeysPath returns the path of the file with the generated keys.
func KeysPath(dataDir string) string { return filepath.Join(dataDir, "keys.json") }

// LoadKeys completes the given keys with those stored in dataDir. If no keys are stored,
// it generates and stores them; generated is then true (decision P4). Several processes
// may call it at once: all get the same keys. It refuses a file that other users can read.
// Errors name the file and the remedy.
func LoadKeys(dataDir string, given KeyFlags) (keys Keys, generated bool, err error) {
	keys = Keys{API: given.APIKey, Signing: given.WebhookSigningKey, Internal: given.InternalAPIKey, Links: given.EvidenceLinkKey}
	if keys.API != "" && len(keys.Signing) > 0 && keys.Internal != "" {
		return keys.withLinks(), false, nil
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
	if len(keys.Links) == 0 && kept.Link != "" {
		if keys.Links, err = evidence.ParseLinkKeys(kept.Link); err != nil {
			return Keys{}, false, fmt.Errorf("EVIDENCE_LINK_KEY in %s: %w", path, err)
		}
	}
	return keys.withLinks(), generated, nil
}

// withLinks derives a missing key of links from API_KEY. An upgraded gateway must start
// without a new setting, and all gateways need the same key. A holder of API_KEY may sign
// links anyway.
func (k Keys) withLinks() Keys {
	if len(k.Links) == 0 {
		mac := hmac.New(sha256.New, []byte(k.API))
		_, _ = mac.Write([]byte("EVIDENCE_LINK_KEY")) // never fails
		k.Links = evidence.LinkKeys{hex.EncodeToString(mac.Sum(nil))}
	}
	return k
}

func generateKeys() StoredKeys {
	key := func() string {
		random := make([]byte, keyBytes)
		_, _ = rand.Read(random) // never fails: it ends the program instead
		return hex.EncodeToString(random)
	}
	return StoredKeys{API: key(), Signing: key(), Internal: key(), Link: key()}
}

// ReadKeys reads a key file. Errors: fs.ErrNotExist; every other error describes the
// problem with the file and the repair.
func ReadKeys(path string) (StoredKeys, error) {
	info, err := os.Stat(path)
	if err != nil {
		return StoredKeys{}, fmt.Errorf("read keys: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return StoredKeys{}, fmt.Errorf("other users of this machine can read %s (mode %04o); if none of them has read it, run: chmod 600 %s; otherwise remove it, restart, and use the newly generated keys everywhere",
			path, info.Mode().Perm(), path)
	}
	if info.Size() > maxKeysFile {
		return StoredKeys{}, fmt.Errorf("%s has %d bytes; a key file has a few hundred", path, info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return StoredKeys{}, fmt.Errorf("read keys: %w", err)
	}
	var kept StoredKeys
	if err := json.Unmarshal(raw, &kept); err != nil {
		return StoredKeys{}, fmt.Errorf("%s is not a key file (%w); remove it, and the next start generates new keys", path, err)
	}
	if kept.API == "" || kept.Signing == "" || kept.Internal == "" {
		return StoredKeys{}, fmt.Errorf("%s lacks one of API_KEY, WEBHOOK_SIGNING_KEY, INTERNAL_API_KEY; remove it, and the next start generates new keys", path)
	}
	return kept, nil
}

// storeKeys writes keys to path, completely or not at all. If the file exists, storeKeys
// does not change it and stored is false.
func storeKeys(path string, keys StoredKeys) (stored bool, err error) {
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
