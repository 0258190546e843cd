package postgres_test

import (
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/keyring"
)

func TestGatewaysAtOnceHaveOneKeyOfSessions(t *testing.T) { // section 18.2
	t.Parallel()
	dsn := database(t)
	keys, gateways := make([]keyring.SessionKey, 8), make([]*postgres.Store, 8)
	for i := range gateways {
		gateways[i] = openWithKey(t, dsn, reversing{first: "one"})
	}
	var starting sync.WaitGroup
	for i, s := range gateways {
		starting.Go(func() {
			var err error
			if keys[i], err = s.SessionKey(t.Context(), keyring.SessionKey{byte(i + 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	for i, key := range keys {
		if key != keys[0] || key == (keyring.SessionKey{}) {
			t.Errorf("gateway %d has %v, gateway 0 %v", i, key, keys[0])
		}
	}
}

func TestTheKeyOfSessionsOutlivesAChangeOfSecretsKey(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	steps := []struct {
		name    string
		secrets reversing
		offered byte
		want    byte
	}{
		{"the first gateway", reversing{first: "one"}, 1, 1},
		{"one that decrypts with both", reversing{first: "two", older: "one"}, 2, 1},
		{"one with the new key alone", reversing{first: "two"}, 3, 1},
		{"one that has another", reversing{first: "lost"}, 4, 4},
		{"a second one that has it", reversing{first: "lost"}, 5, 4},
		{"one that has all", reversing{first: "lost", older: "two"}, 6, 1},
	}
	for _, step := range steps {
		got, err := openWithKey(t, dsn, step.secrets).SessionKey(t.Context(), keyring.SessionKey{step.offered})
		if err != nil || got != (keyring.SessionKey{step.want}) {
			t.Errorf("%s has the key %d, want %d (%v)", step.name, got[0], step.want, err)
		}
	}
	if _, err := open(t, dsn).SessionKey(t.Context(), keyring.SessionKey{7}); err == nil {
		t.Error("a key is stored without SECRETS_KEY")
	}
}
