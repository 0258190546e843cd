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

// problem is one wrong setting: the name of its flag, and a sentence for the user.
type problem struct{ flag, text string }

// checker is a command that checks its parsed settings against each other.
type checker interface {
	check() []problem
}

// Parse reads the command line (without the program's name) and the environment. It
// returns the settings of the chosen command, such as a *Serve. It removes the
// secrets from the environment, because tools would inherit them. It writes help to out.
// Errors: ErrHelpShown; *UsageError.
func Parse(args []string, out io.Writer) (command any, err error) {
	forget, err := readCredentials()
	defer forget()
	if err != nil {
		return nil, &UsageError{[]string{err.Error()}}
	}
	_, chosen, err := parse(args, out)
	if err != nil {
		return nil, err
	}
	forgetSecrets(chosen)
	return chosen.Selected().Target.Addr().Interface(), nil
}

// newCLI makes a CLI that contains the flags of ruleFlags.
func newCLI() *CLI {
	return &CLI{Watch: Watch{RuleFlags: ruleFlags()}}
}

func parse(args []string, out io.Writer) (cli *CLI, chosen *kong.Context, err error) {
	// kong calls kong.Exit after showing help. This panic ends k.Parse without ending the
	// process.
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
	r := newSettingMapper()
	k, err := kong.New(cli, append(r.options(),
		kong.Name("stream-monitor"),
		kong.Description("Watches live streams and reports black pictures, silence and missing starts by webhook."),
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

// commandLineProblems explains an error of kong. It adds an example if an argument is
// missing, and the command that shows the help.
func commandLineProblems(err error) []string {
	command := "stream-monitor"
	text := err.Error()
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context.Selected() != nil {
		name := p.Context.Selected().Name
		command += " " + name
		if example, ok := map[string]string{
			`expected "<URL>"`:       "the URL of the stream is missing, such as: %s https://www.youtube.com/watch?v=XXXXXXXXXXX",
			`expected "<RECORDING>"`: "the recording is missing; record one with: stream-monitor watch --record FILE URL; then: %s FILE",
			`expected "<FILE>"`:      "the file of registrations is missing, such as: %s monitors.csv",
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

// settingMapper parses the settings for kong. It collects all wrong settings instead of
// failing at the first one, so that the user sees all of them at once.
type settingMapper struct {
	refused     map[*kong.Value]problem
	givenAsFlag map[*kong.Value]bool // settings that the command line contains
}

func newSettingMapper() *settingMapper {
	return &settingMapper{refused: map[*kong.Value]problem{}, givenAsFlag: map[*kong.Value]bool{}}
}

// options registers every parser with kong.
func (r *settingMapper) options() (options []kong.Option) {
	for name, parse := range parsers {
		options = append(options, kong.NamedMapper(name, r.mapper(parse)))
	}
	return options
}

// problems lists the wrong settings of the chosen command. Settings that cannot be parsed
// come first, then settings that contradict others.
func (r *settingMapper) problems(chosen *kong.Context) (found []string) {
	reported := map[string]bool{}
	for _, step := range chosen.Path {
		node := step.Node()
		if node == nil {
			continue
		}
		for _, v := range node.Values() {
			if p, ok := r.refused[v]; ok {
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

// mapper adapts a parser to kong. kong calls it first for flags, with a temporary target.
// Then kong calls it for variables and defaults, with the settings field itself as target.
// A flag wins over its variable.
func (r *settingMapper) mapper(parse parser) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text, err := nextText(ctx)
		if err != nil {
			return err
		}
		v := ctx.Value
		if isField := target.Addr().Pointer() == v.Target.Addr().Pointer(); !isField {
			r.givenAsFlag[v] = true
		} else if r.givenAsFlag[v] {
			return nil
		}
		delete(r.refused, v)
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
			r.refused[v] = problem{v.Name, fmt.Sprintf("%s is %s; %v", settingName(v), shown, err)}
			return nil
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	}
}

// nextText returns the text of a setting. It accepts a negative number, which kong would
// take for a flag.
func nextText(ctx *kong.DecodeContext) (string, error) {
	if token := ctx.Scan.Peek().String(); negativeNumber.MatchString(token) {
		ctx.Scan.Pop()
		return token, nil
	}
	var text string
	err := ctx.Scan.PopValueInto("a", &text)
	return text, err
}

// settingName returns the variable and the flag of a setting: MAX_MONITORS (--max-monitors).
func settingName(v *kong.Value) string {
	switch {
	case v.Flag == nil:
		return v.Name
	case len(v.Tag.Envs) == 0:
		return "--" + v.Name
	}
	return v.Tag.Envs[0] + " (--" + v.Name + ")"
}
