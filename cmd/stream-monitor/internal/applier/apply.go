package applier

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
)

// Gateway answers calls of the public API; apiclient.Client is one.
type Gateway interface {
	Call(ctx context.Context, method, path string, body, answer any) error
}

// Options say how a file is applied.
type Options struct {
	DryRun bool // only shows the differences
	Prune  bool // also deletes what has the file's owner and is not in it
	Adopt  bool // also keeps what is in the file and has no owner
	Yes    bool // carries out changes that end a watch; else nothing is done if there is one
}

const (
	mostNamed   = 10  // elements of a message
	longestLine = 160 // bytes of a change that is written on one line
)

// change is one difference between the file and the gateway.
type change struct {
	sign      byte // + new, ~ changed, - deleted
	name      string
	differing []string // fields
	do        func(ctx context.Context) error
	routes    bool // it changes who is told
	stops     bool // it ends a watch
}

func (c change) String() string {
	if len(c.differing) == 0 {
		return fmt.Sprintf("%c %s", c.sign, c.name)
	}
	line := fmt.Sprintf("%c %s: %s", c.sign, c.name, strings.Join(c.differing, ", "))
	if len(line) > longestLine && len(c.differing) > 1 {
		return fmt.Sprintf("%c %s:\n    %s", c.sign, c.name, strings.Join(c.differing, "\n    "))
	}
	return line
}

// Apply makes what the gateway has as the file has it. It prints a line for each
// difference on results, and progress on messages. The gateway refuses nothing halfway
// that could have been found before. Errors: Problems of the file with what the gateway
// has; a call failed.
func Apply(ctx context.Context, gateway Gateway, f File, o Options, results, messages io.Writer) error {
	p := &plan{gateway: patient{gateway, messages}, file: f, prune: o.Prune, adopt: o.Adopt}
	if err := p.current.read(ctx, p.gateway, f.Owner); err != nil {
		return err
	}
	if err := p.compare(ctx); err != nil {
		return err
	}
	if p.spared > 0 {
		fmt.Fprintf(messages, "%d that %s has kept are not in the file; --prune deletes them\n", p.spared, f.Owner)
	}
	if n := len(p.over); n > 0 {
		fmt.Fprintf(messages, "%d that %s has kept have ended, and are not registered again: %s\n", n, f.Owner, strings.Join(p.over[:min(n, mostNamed)], ", "))
	}
	if len(p.changes) == 0 {
		fmt.Fprintln(messages, "nothing to change")
		return nil
	}
	if stops := p.stops(); stops > 0 && !o.DryRun && !o.Yes {
		return fmt.Errorf("%d of %d changes end a watch, and nothing was changed: look at them with --dry-run, and add --yes if they are meant", stops, len(p.changes))
	}
	for n, c := range p.changes {
		fmt.Fprintln(results, c)
		if o.DryRun {
			continue
		}
		if err := c.do(ctx); err != nil {
			return fmt.Errorf("%s: %d of %d changes were made before this: %w", c.name, n, len(p.changes), err)
		}
	}
	if o.DryRun {
		fmt.Fprintf(messages, "dry run: %d changes would be made; nothing was stored\n", len(p.changes))
		return nil
	}
	fmt.Fprintf(messages, "%d changes made\n", len(p.changes))
	return nil
}

// patient waits where the gateway's rate limit asks for it.
type patient struct {
	Gateway

	messages io.Writer
}

// Call implements Gateway.
func (g patient) Call(ctx context.Context, method, path string, body, answer any) error {
	return apiclient.WhenAllowed(ctx, g.messages, func() error { return g.Gateway.Call(ctx, method, path, body, answer) })
}

// plan finds the changes.
type plan struct {
	gateway patient
	file    File
	prune   bool
	adopt   bool
	current currentState

	problems Problems
	changes  []change
	last     []change // deletions of destinations, which come after all else
	spared   int      // that only prune would delete
	over     []string // monitors and channels of the file that have ended
}

// compare finds all changes. Errors: Problems; a call failed.
func (p *plan) compare(ctx context.Context) error {
	p.checkNames()
	if len(p.problems) > 0 { // the gateway would name them again
		return p.problems
	}
	if err := p.compareDestinations(ctx); err != nil {
		return err
	}
	if len(p.problems) > 0 {
		return p.problems
	}
	p.compareRoutes()
	p.compareDuty()
	for n := range p.changes {
		p.changes[n].routes = true
	}
	p.compareSilences()
	if err := p.compareWatched(ctx); err != nil {
		return err
	}
	if len(p.problems) > 0 {
		return p.problems
	}
	p.changes = append(p.changes, p.last...)
	return nil
}

// owns reports whether the file may change what has an owner.
func (p *plan) owns(owner string) bool { return owner == p.file.Owner || owner == "" && p.adopt }

// checkNames finds names of destinations that nobody has, and names that something has
// that the file does not keep.
func (p *plan) checkNames() {
	known := map[string]bool{}
	for name := range p.current.ids {
		known[name] = true
	}
	for _, d := range p.file.Destinations {
		known[d.Name] = true
	}
	refuse := func(format string, args ...any) { p.problems = append(p.problems, fmt.Sprintf(format, args...)) }
	for _, d := range p.file.Destinations {
		if d.Fallback != "" && !known[d.Fallback] {
			refuse("destination %q: fallback is %q, but no destination has that name", d.Name, d.Fallback)
		}
		stored := p.current.destination(d.Name)
		if stored != nil && !p.owns(stored.Owner) {
			refuse("destination %q: %s", d.Name, ownedBy(stored.Owner))
		}
		for _, secret := range d.Kept {
			if stored == nil || !slices.Contains(stored.Secrets, secret) {
				refuse("destination %q: secrets.%s is null, which keeps what is stored, but nothing is; give it a value", d.Name, secret)
			}
		}
	}
	for n, r := range p.file.Routes {
		prefix := label("route", r.Name, n)
		if r.Default {
			prefix = defaultRoute
		}
		for _, name := range r.Destinations {
			if !known[name] {
				refuse("%s: destinations has %q, but no destination has that name", prefix, name)
			}
		}
		switch stored := p.current.route(r); {
		case stored == nil, p.owns(stored.Owner), stored.Default && stored.Owner == "":
		default:
			refuse("%s: %s", prefix, ownedBy(stored.Owner))
		}
	}
	p.checkDuty(known, refuse)
	slices.Sort(p.problems)
}

func ownedBy(owner string) string {
	if owner == "" {
		return "one that no file keeps has the name; give it another name, delete that one, or keep it from now on with --adopt"
	}
	return fmt.Sprintf("one that %q keeps has the name; give it another name, or delete that one", owner)
}

// isSpared reports whether an element that is not in the file stays: because another keeps
// it, or because prune is off.
func (p *plan) isSpared(owner string) bool {
	if owner != p.file.Owner {
		return true
	}
	if !p.prune {
		p.spared++
	}
	return !p.prune
}
