package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// usageStatus is the exit status for a command line or an environment that
// cannot be run with (decision P4).
const usageStatus = 2

// errAnswered says that the command line asked for help and got it: nothing is
// left to do, and the exit status is 0.
var errAnswered = errors.New("help was shown")

// usageError is everything that is wrong with the command line and the
// environment, all at once. main prints it and exits with usageStatus.
type usageError struct{ problems []string }

func (e *usageError) Error() string {
	return strings.Join(e.problems, "\n")
}

// ExitCode is the exit status for this error.
func (e *usageError) ExitCode() int { return usageStatus }

// problem is what is wrong with one setting. The name is its flag's.
type problem struct{ name, text string }

// checker is a command whose settings have to fit each other.
type checker interface {
	check() []problem
}

// parseArgs reads the command line (without the program's name) and the
// environment. The context knows which command was chosen: its Run calls that
// command's Run. Help is written to out. Errors: errAnswered; *usageError.
func parseArgs(args []string, out io.Writer) (cli *CLI, chosen *kong.Context, err error) {
	// kong ends the process after showing help; here it only ends the parsing.
	type answered struct{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(answered); !ok {
				panic(p)
			}
			cli, chosen, err = nil, nil, errAnswered
		}
	}()
	cli = &CLI{}
	read := newReadings()
	options := []kong.Option{
		kong.Name("stream-monitor"),
		kong.Description("Watches YouTube live streams and reports black pictures, silence and missing starts by webhook."),
		kong.Vars{"data_dir": defaultDataDir(), "runtime": defaultRuntime()},
		kong.Writers(out, out),
		kong.Exit(func(int) { panic(answered{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
	}
	for name, parse := range parsers {
		options = append(options, kong.NamedMapper(name, read.mapper(parse)))
	}
	k, err := kong.New(cli, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("command line: %w", err)
	}
	if chosen, err = k.Parse(args); err != nil {
		return nil, nil, &usageError{[]string{err.Error(), hint(err)}}
	}
	if found := problems(chosen, read.bad); len(found) > 0 {
		return nil, nil, &usageError{found}
	}
	return cli, chosen, nil
}

// hint says where help is: at the command that was meant, if one was.
func hint(err error) string {
	command := "stream-monitor"
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context.Selected() != nil {
		command += " " + p.Context.Selected().Name
	}
	return fmt.Sprintf("%q explains", command+" --help")
}

// problems lists what is wrong with the settings of the chosen command: each by
// itself, in the order of the help, then together.
func problems(chosen *kong.Context, bad map[*kong.Value]problem) (found []string) {
	told := map[string]bool{}
	for _, step := range chosen.Path {
		node := step.Node()
		if node == nil {
			continue
		}
		for _, v := range node.Values() {
			if p, ok := bad[v]; ok {
				told[p.name] = true
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
			if !told[p.name] {
				found = append(found, p.text)
			}
		}
	}
	return found
}

// parser turns the text of a setting into its value; the error says what is
// accepted, as the end of a sentence.
type parser func(text string, tag *kong.Tag) (any, error)

// readings is what came of reading the settings one by one. It notes what
// cannot be read instead of failing, so that everything wrong is told at once.
type readings struct {
	bad   map[*kong.Value]problem
	flags map[*kong.Value]bool // given on the command line
}

func newReadings() *readings {
	return &readings{bad: map[*kong.Value]problem{}, flags: map[*kong.Value]bool{}}
}

// mapper fits a parser into kong. kong reads the flags first, and then the
// variables and defaults, straight into the field; a flag makes its variable
// count no more.
func (r *readings) mapper(parse parser) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text, err := next(ctx)
		if err != nil {
			return err
		}
		v := ctx.Value
		if straight := target.Addr().Pointer() == v.Target.Addr().Pointer(); !straight {
			r.flags[v] = true
		} else if r.flags[v] {
			return nil
		}
		delete(r.bad, v)
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
				shown = "not good (it is not shown)"
			}
			r.bad[v] = problem{v.Name, fmt.Sprintf("%s is %s; %v", settingName(v), shown, err)}
			return nil
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	}
}

// next takes the text of a setting. A negative number is one, though it looks
// like a flag.
func next(ctx *kong.DecodeContext) (string, error) {
	if token := ctx.Scan.Peek().String(); negative.MatchString(token) {
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
