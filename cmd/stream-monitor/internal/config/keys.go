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
	"slices"
	"syscall"

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// Keys holds the keys of the gateway, configured or generated. They are the three of section
// 14.2, those of links to evidence (section 16.2) and those of secrets (section 19.1).
type Keys struct {
	API      string
	Signing  webhook.Keys
	Internal string
	Links    evidence.LinkKeys
	Secrets  secretbox.Keys // the first encrypts
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
	Secrets  string `json:"SECRETS_KEY,omitempty"`       // the same; LoadKeys adds it
}

// KeysPath returns the path of the file with the generated keys.
func KeysPath(dataDir string) string { return filepath.Join(dataDir, "keys.json") }

// LoadKeys completes the given keys with those stored in dataDir. If no keys are stored,
// it generates and stores them; generated is then true (decision P4). It adds a key of
// secrets to a file without one. Several processes
// may call it at once: all get the same keys. It refuses a file that other users can read.
// Errors name the file and the remedy.
func LoadKeys(dataDir string, given KeyFlags) (keys Keys, generated bool, err error) {
	keys = Keys{API: given.APIKey, Signing: given.WebhookSigningKey, Internal: given.InternalAPIKey, Links: given.EvidenceLinkKey, Secrets: given.SecretsKey}
	path := KeysPath(dataDir)
	if keys.API != "" && len(keys.Signing) > 0 && keys.Internal != "" {
		// The keys may have been generated before they were given. A file that cannot be
		// read counts as none.
		if kept, err := ReadKeys(path); err == nil {
			if stored, err := secretbox.ParseKeys(kept.Secrets); err == nil {
				keys.Secrets = slices.Concat(keys.Secrets, stored)
			}
		}
		return keys.withDerived(), false, nil
	}
	kept, err := ReadKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if generated, err = storeKeys(path, generateKeys()); err == nil {
			kept, err = ReadKeys(path)
		}
	}
	if err == nil && kept.Secrets == "" && len(keys.Secrets) == 0 {
		kept, err = addSecretsKey(path)
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
	if kept.Secrets != "" {
		stored, err := secretbox.ParseKeys(kept.Secrets)
		if err != nil {
			return Keys{}, false, fmt.Errorf("SECRETS_KEY in %s: %w", path, err)
		}
		keys.Secrets = slices.Concat(keys.Secrets, stored)
	}
	return keys.withDerived(), generated, nil
}

// withDerived derives a missing key of links and the last key of secrets from API_KEY. An
// upgraded gateway must start without a new setting, and all gateways need the same keys.
// A holder of API_KEY may sign links and change destinations anyway. The key of secrets is
// derived even if others are set: it decrypts what was encrypted before.
func (k Keys) withDerived() Keys {
	if len(k.Links) == 0 {
		k.Links = evidence.LinkKeys{k.derive("EVIDENCE_LINK_KEY")}
	}
	k.Secrets = slices.Concat(k.Secrets, secretbox.Keys{k.derive("SECRETS_KEY")})
	return k
}

func (k Keys) derive(name string) string {
	mac := hmac.New(sha256.New, []byte(k.API))
	_, _ = mac.Write([]byte(name)) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

func generateKey() string {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return hex.EncodeToString(random)
}

func generateKeys() StoredKeys {
	return StoredKeys{API: generateKey(), Signing: generateKey(), Internal: generateKey(), Link: generateKey(), Secrets: generateKey()}
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
	if min(len(kept.API), len(kept.Internal)) < minAPIKey {
		return StoredKeys{}, fmt.Errorf("API_KEY or INTERNAL_API_KEY in %s has less than %d characters; remove the file, and the next start generates new keys", path, minAPIKey)
	}
	return kept, nil
}

// storeKeys writes keys to path, completely or not at all. If the file exists, storeKeys
// does not change it and stored is false.
func storeKeys(path string, keys StoredKeys) (stored bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return false, fmt.Errorf("make the data directory: %w", err)
	}
	temp, err := writeKeys(filepath.Dir(path), keys)
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(temp) }()
	// Unlike a rename, a link does not replace what another process stored first.
	switch err := os.Link(temp, path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("store keys: %w", err)
	}
	return true, nil
}

// writeKeys writes keys to a new file in dir.
func writeKeys(dir string, keys StoredKeys) (path string, err error) {
	raw, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode keys: %w", err)
	}
	temp, err := os.CreateTemp(dir, ".keys-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("store keys: %w", err)
	}
	_, err = temp.Write(append(raw, '\n'))
	if err = errors.Join(err, temp.Chmod(fileMode), temp.Sync(), temp.Close()); err != nil {
		_ = os.Remove(temp.Name())
		return "", fmt.Errorf("store keys: %w", err)
	}
	return temp.Name(), nil
}

// addSecretsKey generates SECRETS_KEY in a file that an older version has left, and returns
// what the file then has. Processes that do so at once take turns: each locks the file,
// and looks again whether it is still the one at path.
func addSecretsKey(path string) (StoredKeys, error) {
	for {
		kept, done, err := tryAddSecretsKey(path)
		if done || err != nil {
			return kept, err
		}
	}
}

// tryAddSecretsKey returns done = false if another process has replaced the file meanwhile.
func tryAddSecretsKey(path string) (kept StoredKeys, done bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return kept, false, fmt.Errorf("add SECRETS_KEY to the keys: %w", err)
	}
	defer func() { _ = file.Close() }() // unlocks it
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return kept, false, fmt.Errorf("lock %s: %w", path, err)
	}
	locked, err := file.Stat()
	if err != nil {
		return kept, false, fmt.Errorf("add SECRETS_KEY to the keys: %w", err)
	}
	if present, err := os.Stat(path); err != nil || !os.SameFile(locked, present) {
		return kept, false, err
	}
	if kept, err = ReadKeys(path); err != nil || kept.Secrets != "" {
		return kept, true, err
	}
	kept.Secrets = generateKey()
	temp, err := writeKeys(filepath.Dir(path), kept)
	if err != nil {
		return kept, false, err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return kept, false, fmt.Errorf("add SECRETS_KEY to the keys: %w", err)
	}
	return kept, true, nil
}
