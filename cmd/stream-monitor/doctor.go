package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// verdict is how a finding is to be taken.
type verdict string

// The verdicts. Only fail makes the doctor fail.
const (
	fine verdict = "ok"
	warn verdict = "warn"
	fail verdict = "FAIL"
)

// finding is what the doctor says about one thing: what was found, and, unless
// that is fine, what was expected and what to do.
type finding struct {
	subject  string
	verdict  verdict
	found    string
	expected string
	advice   string
}

// doctor examines a machine for what serve and watch need on it, with the
// settings they would run with.
type doctor struct {
	cfg DoctorCmd

	// pingDB connects to a database once. Errors are for people.
	pingDB func(ctx context.Context, dsn string) error

	// askCluster finds out whether pods may be run, and in which namespace.
	// Errors are for people, one a line.
	askCluster func(ctx context.Context, f ClusterFlags) (namespace string, err error)
}

// Time limits of an examination.
const (
	askTime  = 20 * time.Second // for one question to a tool
	pingTime = 5 * time.Second  // for the database to answer, and for the cluster
)

// examine writes a report to w and tells whether nothing that is needed is
// missing. It blocks until every tool it ran has ended.
func (d doctor) examine(ctx context.Context, w io.Writer) (ok bool, err error) {
	var findings []finding
	for _, ask := range []func(context.Context) []finding{
		d.ytdlp, d.streamlink, d.ffmpeg, d.database, d.cluster, d.dataDirectory, d.keys,
	} {
		findings = append(findings, ask(ctx)...)
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
		fmt.Fprintf(&report, "%s to mend, %s.\n", count(failures, "thing"), count(warnings, "warning"))
	case warnings > 0:
		fmt.Fprintf(&report, "Everything needed is there; %s.\n", count(warnings, "warning"))
	default:
		report.WriteString("Everything is there.\n")
	}
	if _, err := io.WriteString(w, report.String()); err != nil {
		return false, fmt.Errorf("write the report: %w", err)
	}
	return failures == 0, nil
}

// write gives a finding a line, and two more when something is to be done.
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
