// Package doctor checks that a machine has everything that serve and watch need:
// tools, database, cluster, data directory, keys and a way to each source. A finding
// names the result, the expected result and what to do.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// verdict grades a finding.
type verdict string

// The verdicts. Examine returns ok unless a finding has the verdict fail.
const (
	fine verdict = "ok"
	warn verdict = "warn"
	fail verdict = "FAIL"
)

// finding is the result of one check. Expected and advice are shown unless the
// verdict is fine.
type finding struct {
	subject  string
	verdict  verdict
	found    string
	expected string
	advice   string
}

// Doctor examines a machine with the settings that serve and watch would use.
type Doctor struct {
	Settings config.Doctor

	// Now is the time of the examination.
	Now time.Time

	// DatabaseTime connects to a database once, and returns the time of its clock.
	DatabaseTime func(ctx context.Context, dsn string) (time.Time, error)

	// CookieJars reads the records of the cookie jars in a database.
	CookieJars func(ctx context.Context, dsn string) ([]cookiejars.Record, error)

	// IngestLogins reads the logins of owners in a database. AskOAuth asks Google for an access token, with a refresh token that nobody has.
	IngestLogins func(ctx context.Context, dsn string) ([]ingests.Login, error)
	AskOAuth     func(ctx context.Context) officialstate.Response

	// Channels reads the channels in a database that are not stopped.
	Channels func(ctx context.Context, dsn string) ([]channels.Listed, error)

	// CheckCluster verifies that pods may be run, and returns their namespace. Its
	// error names one problem per line.
	CheckCluster func(ctx context.Context, f config.ClusterFlags) (namespace string, err error)

	// CheckBucket writes, reads and deletes an object in the bucket of EVIDENCE_STORE.
	CheckBucket func(ctx context.Context, f config.EvidenceFlags) error

	// AskOpinion asks the endpoint of SECOND_OPINION_URL an example question.
	AskOpinion func(ctx context.Context, f config.OpinionFlags, allowed config.Networks) incident.Opinion

	// CheckLauncher returns why tool-launcher starts no tool, or nil.
	CheckLauncher func() error

	// Landlock returns the version of Landlock that confines tools; 0: none does.
	Landlock func() int

	// Missing names the means to confine tools that are not granted here, and what follows.
	Missing func() []string

	// OpenFiles is how many files a process may open.
	OpenFiles int

	// LookupHost resolves a host name, as net.Resolver does.
	LookupHost func(ctx context.Context, host string) (addresses []string, err error)

	// AskYouTubeAPI asks the YouTube Data API about videos, as youtubeapi.Client does.
	AskYouTubeAPI func(ctx context.Context, ids []string) officialstate.Response

	// AskTwitchAPI asks the API of Twitch about channels, as twitchapi.Client does.
	AskTwitchAPI func(ctx context.Context, logins []string) officialstate.Response

	// EventSub reads what is known of the pushes of Twitch from a database.
	EventSub func(ctx context.Context, dsn string) (eventsub.State, error)

	// Probers has the prober of each source that has one.
	Probers map[monitor.SourceName]worker.Prober
}

// Time limits of an examination.
const (
	toolTimeout = 20 * time.Second // for one call of a tool
	pingTimeout = 5 * time.Second  // for one answer of the database, the cluster or a source
)

// Examine writes a report to w. It returns ok if every requirement is met.
// It blocks until every tool that it started has ended.
func (d Doctor) Examine(ctx context.Context, w io.Writer) (ok bool, err error) {
	var findings []finding
	checks := []func(context.Context) []finding{
		d.launcher, toolsCheck{d.Settings, d.Now}.run, d.confinement, d.openFiles, d.database, d.cookieJars, d.channels, d.cluster, d.dataDirectory, d.evidence, d.keys, d.opinion, d.youTubeAPI, d.ingest, d.twitchAPI, d.eventSub,
	}
	for _, source := range monitor.Sources {
		if len(source.Hosts) > 0 { // else its streams are anywhere
			checks = append(checks, sourceCheck{d.Settings, source, d.LookupHost, d.Probers[source.Name]}.run)
		}
	}
	for _, check := range checks {
		findings = append(findings, check(ctx)...)
	}
	warnings, failures := 0, 0
	var report strings.Builder
	for _, f := range findings {
		switch f.verdict {
		case warn:
			warnings++
		case fail:
			failures++
		}
		f.write(&report)
	}
	report.WriteString("\n" + d.secretHelp() + "\n")
	switch {
	case failures > 0:
		fmt.Fprintf(&report, "%s to repair, %s.\n", count(failures, "thing"), count(warnings, "warning"))
	case warnings > 0:
		fmt.Fprintf(&report, "Everything required is present; %s.\n", count(warnings, "warning"))
	default:
		report.WriteString("Everything is present.\n")
	}
	if _, err := io.WriteString(w, report.String()); err != nil {
		return false, fmt.Errorf("write the report: %w", err)
	}
	return failures == 0, nil
}

// write writes one line, and for a warning or failure the expected result and the advice.
func (f finding) write(report *strings.Builder) {
	fmt.Fprintf(report, "%-4s  %-18s  %s\n", f.verdict, f.subject, f.found)
	if f.verdict == fine {
		return
	}
	if f.expected != "" {
		fmt.Fprintf(report, "%26sexpected: %s\n", "", f.expected)
	}
	if f.advice != "" {
		fmt.Fprintf(report, "%26sdo: %s\n", "", f.advice)
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
