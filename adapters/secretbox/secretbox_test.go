package secretbox_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	row     = "01900000-0000-7000-8000-00000000000a"
	text    = `{"bot_token":"xoxb-secret"}`
	oldKey  = "0123456789abcdef"
	newKey  = "fedcba9876543210"
	thirdly = "another key of enough characters"
)

func newBox(t *testing.T, keys ...string) *secretbox.Box {
	t.Helper()
	return must.Get(secretbox.New(keys))(t)
}

func seal(t *testing.T, box *secretbox.Box) []byte {
	t.Helper()
	return must.Get(box.Seal([]byte(text), row))(t)
}

func TestASecretOpensForItsRow(t *testing.T) {
	box := newBox(t, oldKey)
	sealed := seal(t, box)
	if bytes.Contains(sealed, []byte("xoxb")) || bytes.Equal(sealed, seal(t, box)) {
		t.Errorf("sealed: %q", sealed)
	}
	opened, current, err := newBox(t, oldKey).Open(sealed, row)
	if string(opened) != text || !current || err != nil {
		t.Errorf("opened: %q, %t, %v", opened, current, err)
	}
	if _, _, err := box.Open(sealed, strings.Replace(row, "0a", "0b", 1)); err == nil || !strings.Contains(err.Error(), "another row") {
		t.Errorf("it opens for another row: %v", err)
	}
}

func TestAnAlteredSecretDoesNotOpen(t *testing.T) {
	box := newBox(t, oldKey)
	sealed := seal(t, box)
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		if _, _, err := box.Open(altered, row); err == nil {
			t.Errorf("it opens with another byte %d", i)
		}
		if _, _, err := box.Open(sealed[:i], row); err == nil {
			t.Errorf("its first %d bytes open", i)
		}
	}
}

func TestKeysAreReplacedOneAfterTheOther(t *testing.T) {
	sealed := seal(t, newBox(t, oldKey))
	both := newBox(t, newKey, oldKey)
	opened, current, err := both.Open(sealed, row)
	if string(opened) != text || current || err != nil {
		t.Errorf("with both keys: %q, %t, %v", opened, current, err)
	}
	if opened, _, err := newBox(t, newKey).Open(seal(t, both), row); string(opened) != text || err != nil {
		t.Errorf("both keys encrypt with the older: %v", err)
	}
	if _, _, err := newBox(t, newKey, thirdly).Open(sealed, row); err == nil || !strings.Contains(err.Error(), "no key of SECRETS_KEY") {
		t.Errorf("without the older key: %v", err)
	}
	expect.Failed(secretbox.New(nil))(t, "SECRETS_KEY")
}

func TestKeysAreReadFromText(t *testing.T) {
	keys, err := secretbox.ParseKeys(newKey + ", " + oldKey)
	if err != nil || len(keys) != 2 || keys[0] != newKey || keys[1] != oldKey {
		t.Errorf("keys %q, %v", keys, err)
	}
	for _, wrong := range []string{"", "hunter2", newKey + ",", newKey + " " + oldKey, strings.Repeat("x", 257), strings.Repeat(newKey+",", 4) + newKey} {
		if _, err := secretbox.ParseKeys(wrong); err == nil || strings.Contains(err.Error(), newKey) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
