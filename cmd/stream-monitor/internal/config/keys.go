package config

import (
	"cmp"
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

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

// Keys holds the five keys of the gateway, configured or generated. They are the three of
// section 14.2, those of links to evidence (section 16.2) and those of secrets (section 19.1).
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

// storedKeys is the content of the key file, in JSON. Each member has the name of the
// environment variable that it replaces.
type storedKeys struct {
	API      string `json:"API_KEY"`
	Signing  string `json:"WEBHOOK_SIGNING_KEY"`
	Internal string `json:"INTERNAL_API_KEY"`
	Link     string `json:"EVIDENCE_LINK_KEY"`
	Secrets  string `json:"SECRETS_KEY"`
}

// KeysPath returns the path of the file with the generated keys.
func KeysPath(dataDir string) string { return filepath.Join(dataDir, "keys.json") }

// LoadKeys completes the given keys with those stored in dataDir. If no keys are stored,
// it generates and stores them; generated is then true (decision P4). Several processes
// may call it at once: all get the same keys. It refuses a file that other users can read.
// Errors name the file and the remedy.
func LoadKeys(dataDir string, given KeyFlags) (keys Keys, generated bool, err error) {
	path := KeysPath(dataDir)
	complete := len(given.Missing()) == 0
	kept, err := ReadKeys(path)
	if errors.Is(err, fs.ErrNotExist) && !complete {
		if generated, err = storeKeys(path, generateKeys()); err == nil {
			kept, err = ReadKeys(path)
		}
	}
	if err != nil && !complete {
		return Keys{}, false, err
	}
	// The keys may have been generated before they were given: the file still has those of
	// links and secrets. One that cannot be read counts as none.
	keys = Keys{
		API:      cmp.Or(given.APIKey, kept.API),
		Signing:  firstSet(given.WebhookSigningKey, kept.Signing),
		Internal: cmp.Or(given.InternalAPIKey, kept.Internal),
		Links:    firstSet(given.EvidenceLinkKey, kept.Links),
		Secrets:  slices.Concat(given.SecretsKey, kept.Secrets),
	}
	return keys.withDerived(), generated, nil
}

func firstSet[L ~[]string](given, kept L) L {
	if len(given) > 0 {
		return given
	}
	return kept
}

// withDerived derives a missing key of links and the last key of secrets from API_KEY: they
// are optional, and all gateways need the same. A holder of API_KEY may sign links and change
// destinations anyway. The key of secrets is derived even if others are set: it decrypts what
// was encrypted before.
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

func generateKeys() storedKeys {
	return storedKeys{API: generateKey(), Signing: generateKey(), Internal: generateKey(), Link: generateKey(), Secrets: generateKey()}
}

// ReadKeys reads a key file, which has all five keys. Errors: fs.ErrNotExist; every other
// error describes the problem with the file and the repair.
func ReadKeys(path string) (keys Keys, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return keys, fmt.Errorf("read keys: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return keys, fmt.Errorf("other users of this machine can read %s (mode %04o); if none of them has read it, run: chmod 600 %s; otherwise remove it, restart, and use the newly generated keys everywhere",
			path, info.Mode().Perm(), path)
	}
	if info.Size() > maxKeysFile {
		return keys, fmt.Errorf("%s has %d bytes; a key file has a few hundred", path, info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return keys, fmt.Errorf("read keys: %w", err)
	}
	const remedy = "put the one of your backup in its place; without a backup remove it, and the next start generates new keys"
	var kept storedKeys
	if err := json.Unmarshal(raw, &kept); err != nil {
		return keys, fmt.Errorf("%s is not a key file (%w); %s", path, err, remedy)
	}
	if slices.Contains([]string{kept.API, kept.Signing, kept.Internal, kept.Link, kept.Secrets}, "") {
		return keys, fmt.Errorf("%s lacks one of API_KEY, WEBHOOK_SIGNING_KEY, INTERNAL_API_KEY, EVIDENCE_LINK_KEY, SECRETS_KEY; %s", path, remedy)
	}
	if min(len(kept.API), len(kept.Internal)) < minAPIKey {
		return keys, fmt.Errorf("API_KEY or INTERNAL_API_KEY in %s has less than %d characters; %s", path, minAPIKey, remedy)
	}
	keys = Keys{API: kept.API, Internal: kept.Internal}
	if keys.Signing, err = webhook.ParseKeys(kept.Signing); err != nil {
		return Keys{}, fmt.Errorf("WEBHOOK_SIGNING_KEY in %s: %w", path, err)
	}
	if keys.Links, err = evidence.ParseLinkKeys(kept.Link); err != nil {
		return Keys{}, fmt.Errorf("EVIDENCE_LINK_KEY in %s: %w", path, err)
	}
	if keys.Secrets, err = secretbox.ParseKeys(kept.Secrets); err != nil {
		return Keys{}, fmt.Errorf("SECRETS_KEY in %s: %w", path, err)
	}
	return keys, nil
}

// storeKeys writes keys to path, completely or not at all. If the file exists, storeKeys
// does not change it and stored is false.
func storeKeys(path string, keys storedKeys) (stored bool, err error) {
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
func writeKeys(dir string, keys storedKeys) (path string, err error) {
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
