package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/access"
)

var now = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

func TestEachRoleIncludesTheRightsOfTheOneBefore(t *testing.T) {
	for role, may := range map[access.Role][3]bool{
		access.View:     {true, false, false},
		access.Operator: {true, true, false},
		access.Admin:    {true, true, true},
		"boss":          {},
		"":              {},
	} {
		for i, right := range []access.Right{access.Read, access.Operate, access.Administer} {
			if role.May(right) != may[i] {
				t.Errorf("may %q do %d? %v", role, right, role.May(right))
			}
		}
	}
	for right, role := range map[access.Right]access.Role{access.Read: access.View, access.Operate: access.Operator, access.Administer: access.Admin} {
		if access.RoleFor(right) != role {
			t.Errorf("the right %d is that of %q, want %q", right, access.RoleFor(right), role)
		}
	}
}

func TestAKeyIsAcceptedUntilItExpiresOrIsRevoked(t *testing.T) {
	key := access.Key{ExpiresAt: now}
	if before, at := key.State(now.Add(-1)), key.State(now); before != access.Active || at != access.Expired {
		t.Errorf("it is %s, then %s", before, at)
	}
	key.RevokedAt = now.Add(-time.Hour)
	if got := key.State(now); got != access.Revoked {
		t.Errorf("a revoked key is %s", got)
	}
	if got := access.Root.State(now); got != access.Active || !access.Root.Role.May(access.Administer) || !access.Root.IsRoot() {
		t.Errorf("API_KEY is %s", got)
	}
}

func TestEveryWrongFieldOfANewKeyIsNamed(t *testing.T) {
	good := access.Key{Name: "夜勤 1", Role: access.Operator, ExpiresAt: now.Add(time.Second)}
	if problems := good.Check(now); len(problems) > 0 {
		t.Errorf("refused: %v", problems)
	}
	for _, name := range []string{"", " a", "a ", "a\nb", strings.Repeat("a", 101), access.RootName} {
		if problems := (access.Key{Name: name, Role: access.View}).Check(now); len(problems) != 1 || !strings.Contains(problems[0].Error(), "name") {
			t.Errorf("the name %q: %v", name, problems)
		}
	}
	if problems := (access.Key{Role: "boss", ExpiresAt: now}).Check(now); len(problems) != 3 {
		t.Errorf("of three wrong fields it names %v", problems)
	}
}
