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

// GitHub starts no workflow for what another one does with its own token, except workflow_dispatch.
func TestAProposalOfAWorkflowIsTestedBeforeItIsMerged(t *testing.T) {
	proposals := 0
	for _, name := range trackedFiles(t) {
		if !strings.HasPrefix(name, ".github/workflows/") {
			continue
		}
		_, after, proposes := strings.Cut(read(t, name), "gh pr create")
		if !proposes {
			continue
		}
		proposals++
		if !strings.Contains(after, "gh workflow run test.yml --ref") || !strings.Contains(read(t, name), "actions: write") {
			t.Errorf("%s opens a pull request and does not start test.yml on it", name)
		}
	}
	if proposals != 1 {
		t.Errorf("found %d workflows that open a pull request, want 1: the search is broken", proposals)
	}
	if test := read(t, ".github/workflows/test.yml"); !strings.Contains(test, "\n  workflow_dispatch:\n") {
		t.Error("test.yml cannot be started on a branch")
	}
}

// A release is built of what main has locked.
func TestEveryLockIsRenewedAndUsed(t *testing.T) {
	renewal, build := read(t, ".github/workflows/tools.yml"), read(t, ".github/workflows/image.yml")
	for lock, command := range map[string]string{"test/tools/requirements": "make lock\n", "deploy/base-images": "lock-images", "deploy/ffmpeg-sources": "lock-ffmpeg"} {
		if !strings.Contains(renewal, command) || strings.Count(renewal, lock) != 2 || strings.Count(build, lock) != 1 {
			t.Errorf("%s: tools.yml must renew it, hand it over and propose it, image.yml must take it from main", lock)
		}
	}
}
