package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// credentialsVariable names the directory in which systemd puts the credentials of a service
// (LoadCredential= in systemd.exec(5)).
const credentialsVariable = "CREDENTIALS_DIRECTORY"

// maxCredential limits a credential, in bytes.
const maxCredential = 64 << 10

// readCredentials sets each variable of a secret that is not set, and has a credential of its name,
// until forget. Error: a credential cannot be read.
func readCredentials() (forget func(), err error) {
	var read []string
	forget = func() {
		for _, name := range read {
			_ = os.Unsetenv(name) // it could be set, too
		}
	}
	dir := os.Getenv(credentialsVariable)
	if dir == "" {
		return forget, nil
	}
	for _, name := range secretVariables() {
		if os.Getenv(name) != "" {
			continue
		}
		value, err := readCredential(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return forget, fmt.Errorf("the credential %s of systemd cannot be read: %w", name, err)
		default:
			_ = os.Setenv(name, value) // fails only on what cannot be in an environment
			read = append(read, name)
		}
	}
	return forget, nil
}

func readCredential(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // systemd names the directory
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxCredential+1))
	switch value := strings.TrimRight(string(content), "\r\n"); {
	case err != nil:
		return "", err
	case len(content) > maxCredential:
		return "", fmt.Errorf("it has more than %d bytes", maxCredential)
	case strings.ContainsRune(value, 0):
		return "", errors.New("it has a NUL byte")
	default:
		return value, nil
	}
}

// secretVariables returns the names of the environment variables that are secrets.
func secretVariables() []string {
	var names []string
	collectVariables(reflect.TypeFor[CLI](), &names, func(t reflect.StructTag) bool { _, secret := t.Lookup("secret"); return secret })
	slices.Sort(names)
	return slices.Compact(names)
}
