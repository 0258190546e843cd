package supplychain_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anyAction    = regexp.MustCompile(`(?m)^\s*(?:- )?uses:.*$`)
	pinnedAction = regexp.MustCompile(`uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// unpinnedActions returns the uses of actions in a workflow that name no commit.
func unpinnedActions(workflow string) []string {
	return slices.DeleteFunc(anyAction.FindAllString(workflow, -1), pinnedAction.MatchString)
}

func TestEveryActionIsPinnedByItsCommit(t *testing.T) {
	for _, name := range trackedFiles(t) {
		if !strings.HasPrefix(name, ".github/workflows/") {
			continue
		}
		workflow := read(t, name)
		if !anyAction.MatchString(workflow) {
			t.Errorf("%s uses no action: the search is broken", name)
		}
		for _, line := range unpinnedActions(workflow) {
			t.Errorf("%s: %s: want OWNER/NAME@COMMIT # vMAJOR.MINOR.PATCH", name, strings.TrimSpace(line))
		}
	}
}
