package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

// Exit status, the same for every subcommand.
const (
	exitOK     = 0
	exitHost   = 1 // the host could not do its part
	exitUsage  = 2 // the command line, the config or a line of input
	exitNo     = 3 // refused, or a check that failed
	exitFailed = 4 // the tool ran and failed
	exitWaits  = 5 // it waits for a person
)

// A cli is one run of the command, with all that it takes from the process, so
// that a test can give it something else.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	dir            string                 // relative paths start here
	recorder       func() host.Recorder   // told too, by each opened host; nil: none
	opened         func(*host.Host)       // told of each opened host; nil: nobody
	clock          func() time.Time       // of each opened host; nil: the real one
	step           func(string)           // told between the steps of an approval; nil: nobody
	terminal       func(w io.Writer) bool // colour and live progress only there

	config   string
	logLevel string
	logJSON  bool
}

func ofProcess() *cli {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return &cli{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv, dir: dir,
		terminal: func(w io.Writer) bool {
			if s, ok := w.(*sink); ok {
				w = s.Writer
			}
			f, ok := w.(*os.File)
			return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		},
	}
}

// status ends a command with an exit status and at most one text on stderr.
type status struct {
	code int
	err  error // nil: everything was said already
}

func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.err.Error()
}

func usage(format string, args ...any) error {
	return &status{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// run runs one command line and gives the exit status.
func (c *cli) run(ctx context.Context, args []string) int {
	out := &sink{Writer: c.stdout}
	c.stdout, c.stdin = out, cancelReader{ctx, c.stdin}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	err := root.ExecuteContext(ctx)
	var s *status
	switch {
	case out.err != nil:
		fmt.Fprintf(c.stderr, "stdout: %v\n", out.err)
		return exitHost
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		if s.err != nil {
			fmt.Fprintln(c.stderr, cleanLines(s.err.Error()))
		}
		return s.code
	default: // cobra's own: an unknown flag or command
		fmt.Fprintf(c.stderr, "%s\nsee: toolhost --help\n", cleanLines(err.Error()))
		return exitUsage
	}
}

func (c *cli) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:           "toolhost",
		Short:         "Decides what a language model's tool calls may do, and runs them in a sandbox",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				c.printVersion()
				return nil
			}
			return cmd.Help()
		},
		Example: "  toolhost demo\n  toolhost call get_order '{\"order_id\":\"LK-581106\"}' --as role=customer,tenant=larkfield,customer=C-81265",
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	flags := root.PersistentFlags()
	flags.StringVar(&c.config, "config", "", "`FILE` with the config (default config.toml, or $TOOLHOST_CONFIG)")
	flags.StringVar(&c.logLevel, "log-level", "warn", "`LEVEL` of the log: debug (with what guests say), info, warn, error or off")
	flags.BoolVar(&c.logJSON, "log-json", false, "write the log as JSON lines")
	root.Flags().BoolVar(&version, "version", false, "print the versions, as the command version does")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error", "off"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
	root.SetUsageTemplate(usageTemplate)
	root.AddCommand(c.callCommand(), c.explainCommand(), c.toolsCommand(), c.answerCommand(), c.replyCommand(), c.converseCommand(), c.checkCommand(), c.grantsCommand(), c.serveCommand(), c.approvalsCommand(), c.changesCommand(), c.deliverCommand(), c.auditCommand(),
		c.demoCommand(), c.initCommand(), c.pluginCommand(), c.versionCommand())
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("help: no command %q; see: toolhost --help", strings.Join(args, " "))
			}
			return cmd.Help()
		},
	})
	return root
}

// usageTemplate is cobra's, shortened to fit a screen and with the example last.
const usageTemplate = `Usage:{{if and .Runnable .HasParent}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasExample}}

Example:
{{.Example}}{{end}}
`

// path resolves a path of the command line.
func (c *cli) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

const standardConfig = "config.toml"

// configName is the config's path as it was given; places show it so.
func (c *cli) configName() string {
	if c.config != "" {
		return c.config
	}
	if p, ok := c.env("TOOLHOST_CONFIG"); ok && p != "" {
		return p
	}
	return standardConfig
}

// configFlag is what a command needs that is to read the same config as this one.
func (c *cli) configFlag() string {
	if c.config == "" {
		return ""
	}
	return " --config " + c.config
}

func (c *cli) configPath() string { return c.path(c.configName()) }

// open loads the config whole, to decide calls. A host that could be opened
// must be closed.
func (c *cli) open(ctx context.Context) (*host.Host, error) { return c.load(ctx, nil) }

// look loads the config whole and decides no call: nothing is recorded.
func (c *cli) look(ctx context.Context) (*host.Host, error) { return c.load(ctx, host.LookOnly()) }

func (c *cli) load(ctx context.Context, recorder host.Recorder) (*host.Host, error) {
	log, err := c.logger()
	if err != nil {
		return nil, err
	}
	o := host.Options{
		Name: c.configName(), Env: c.env, Recorder: recorder, Log: log, Cache: c.cacheFolder(), Program: "toolhost " + ownVersion(),
		Clock: c.clock, Step: c.step,
	}
	if c.recorder != nil && recorder == nil {
		o.Also = c.recorder()
	}
	h, err := host.Open(ctx, c.configPath(), o)
	if err != nil {
		return nil, &status{code: exitUsage, err: c.hint(err)}
	}
	if c.opened != nil {
		c.opened(h)
	}
	return h, nil
}

// hint says what to do where there is no config at all.
func (c *cli) hint(err error) error {
	if errors.Is(err, os.ErrNotExist) && c.configName() == standardConfig {
		return fmt.Errorf("there is no %s here; make a first one with: toolhost init", standardConfig)
	}
	return err
}

func (c *cli) logger() (hclog.Logger, error) {
	level := hclog.LevelFromString(c.logLevel)
	if level == hclog.NoLevel {
		return nil, usage("--log-level %q: must be debug, info, warn, error or off", c.logLevel)
	}
	return hclog.New(&hclog.LoggerOptions{Name: "toolhost", Level: level, Output: c.stderr, JSONFormat: c.logJSON}), nil
}

// cacheFolder is where compiled modules are kept between processes; "": nowhere.
// It holds native code that the host will run: the sandbox makes it, for us
// alone, or does without.
func (c *cli) cacheFolder() string {
	folder, _ := c.env("TOOLHOST_CACHE")
	switch folder {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(base, "toolhost", "modules")
	}
	return c.path(folder)
}
