package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// UsageStatus is the exit status for a wrong command line or configuration
// (decision P4).
const UsageStatus = 2

// ErrHelpShown reports that the command line asked for help and got it. The exit
// status is 0.
var ErrHelpShown = errors.New("help was shown")

// UsageError lists everything that is wrong with the command line and the
// environment. The process ends with UsageStatus.
type UsageError struct{ Problems []string }

// Error returns one problem per line.
func (e *UsageError) Error() string { return strings.Join(e.Problems, "\n") }

// problem is one wrong setting: the name of its flag, and a sentence.
type problem struct{ flag, text string }

// checker is a command whose settings are checked together once each has been
// parsed.
type checker interface {
	check() []problem
}

// Parse reads the command line (without the program's name) and the environment. It
// returns the settings of the chosen command, such as a *Serve. It removes the
// secrets from the environment, which tools would inherit. It writes help to out.
// Errors: ErrHelpShown; *UsageError.
func Parse(args []string, out io.Writer) (command any, err error) {
	_, chosen, err := parse(args, out)
	if err != nil {
		return nil, err
	}
	forgetSecrets(chosen)
	return chosen.Selected().Target.Addr().Interface(), nil
}

// newCLI makes a command line whose foreground watch has its rules.
func newCLI() *CLI {
	return &CLI{Watch: Watch{Rules: ruleFlags()}}
}

func parse(args []string, out io.Writer) (cli *CLI, chosen *kong.Context, err error) {
	// kong exits the process after showing help. The panic only ends the parsing.
	type helpShown struct{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(helpShown); !ok {
				panic(p)
			}
			cli, chosen, err = nil, nil, ErrHelpShown
		}
	}()
	cli = newCLI()
	r := newReader()
	k, err := kong.New(cli, append(r.options(),
		kong.Name("stream-monitor"),
		kong.Description("Watches YouTube live streams and reports black pictures, silence and missing starts by webhook."),
		kong.Vars{"data_dir": defaultDataDir(), "runtime": defaultRuntime()},
		kong.Writers(out, out),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
	)...)
	if err != nil {
		return nil, nil, fmt.Errorf("command line: %w", err)
	}
	if chosen, err = k.Parse(args); err != nil {
		return nil, nil, &UsageError{commandLineProblems(err)}
	}
	if found := r.problems(chosen); len(found) > 0 {
		return nil, nil, &UsageError{found}
	}
	return cli, chosen, nil
}

// commandLineProblems puts kong's error into words, with an example where an
// argument is missing, and says where the help is.
func commandLineProblems(err error) []string {
	command := "stream-monitor"
	text := err.Error()
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context.Selected() != nil {
		name := p.Context.Selected().Name
		command += " " + name
		if example, ok := map[string]string{
			`expected "<URL>"`:  "the URL of the stream is missing, such as: %s https://www.youtube.com/watch?v=XXXXXXXXXXX",
			`expected "<FILE>"`: "the recording is missing; record one with: stream-monitor watch --record FILE URL; then: %s FILE",
		}[text]; ok {
			text = fmt.Sprintf(example, command)
		}
	}
	return []string{text, fmt.Sprintf("%q explains", command+" --help")}
}

// forgetSecrets removes the secret settings of the chosen command from the
// environment. WatchingFlags.Export puts back a proxy's password, which the tools
// need.
func forgetSecrets(chosen *kong.Context) {
	for _, flag := range chosen.Flags() {
		if !flag.Tag.Has("secret") {
			continue
		}
		for _, name := range flag.Envs {
			_ = os.Unsetenv(name) // fails only on names that cannot be in an environment
		}
	}
}

// parser turns the text of a setting into its value. Its error says what is
// accepted, as the end of a sentence.
type parser func(text string, tag *kong.Tag) (any, error)

// reader parses the settings one by one. It collects what is wrong instead of
// failing at the first, so that the user sees everything at once.
type reader struct {
	wrong map[*kong.Value]problem
	flags map[*kong.Value]bool // settings given on the command line
}

func newReader() *reader {
	return &reader{wrong: map[*kong.Value]problem{}, flags: map[*kong.Value]bool{}}
}

// options registers every parser with kong.
func (r *reader) options() (options []kong.Option) {
	for name, parse := range parsers {
		options = append(options, kong.NamedMapper(name, r.mapper(parse)))
	}
	return options
}

// problems lists what is wrong with the settings of the chosen command. Those that
// are wrong by themselves come first, then those that contradict others.
func (r *reader) problems(chosen *kong.Context) (found []string) {
	reported := map[string]bool{}
	for _, step := range chosen.Path {
		node := step.Node()
		if node == nil {
			continue
		}
		for _, v := range node.Values() {
			if p, ok := r.wrong[v]; ok {
				reported[p.flag] = true
				found = append(found, p.text)
			}
		}
	}
	command := chosen.Selected()
	if command == nil {
		return found
	}
	if c, ok := reflect.TypeAssert[checker](command.Target.Addr()); ok {
		for _, p := range c.check() {
			if !reported[p.flag] {
				found = append(found, p.text)
			}
		}
	}
	return found
}

// mapper adapts a parser to kong. kong reads the flags first, then variables and
// defaults straight into the field; a flag wins over its variable.
func (r *reader) mapper(parse parser) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text, err := nextText(ctx)
		if err != nil {
			return err
		}
		v := ctx.Value
		if straight := target.Addr().Pointer() == v.Target.Addr().Pointer(); !straight {
			r.flags[v] = true
		} else if r.flags[v] {
			return nil
		}
		delete(r.wrong, v)
		target.SetZero()
		if text == "" {
			text = v.Default
		}
		if text == "" {
			return nil
		}
		value, err := parse(text, v.Tag)
		if err != nil {
			shown := fmt.Sprintf("%.80q", text)
			if v.Tag.Has("secret") {
				shown = "not valid (the value is secret and not shown)"
			}
			r.wrong[v] = problem{v.Name, fmt.Sprintf("%s is %s; %v", settingName(v), shown, err)}
			return nil
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	}
}

// nextText takes the text of a setting. A negative number is a value, although it
// begins like a flag.
func nextText(ctx *kong.DecodeContext) (string, error) {
	if token := ctx.Scan.Peek().String(); negativeNumber.MatchString(token) {
		ctx.Scan.Pop()
		return token, nil
	}
	var text string
	err := ctx.Scan.PopValueInto("a", &text)
	return text, err
}

// settingName names a setting both ways: MAX_MONITORS (--max-monitors).
func settingName(v *kong.Value) string {
	switch {
	case v.Flag == nil:
		return v.Name
	case len(v.Tag.Envs) == 0:
		return "--" + v.Name
	}
	return v.Tag.Envs[0] + " (--" + v.Name + ")"
}
