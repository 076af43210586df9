package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phalanx-go/phalanx"
)

// envPrefix begins the names of environment variables: PHALANX_TLS_CERT is tls-cert.
const envPrefix = "PHALANX_"

// otherVariables are variables of the program that are no settings.
var otherVariables = []string{"addr", "config"}

// choice is the value of a setting and where it comes from.
type choice struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// text is the value of a flag that is kept as it was given.
type text struct {
	value string
	kind  string
}

func (t *text) String() string     { return t.value }
func (t *text) Set(v string) error { t.value = v; return nil }
func (t *text) Type() string       { return t.kind }

// settingFlags adds the flags of the settings called keys, or of all.
func settingFlags(f *pflag.FlagSet, keys ...string) {
	for _, s := range allSettings() {
		if len(keys) > 0 && !slices.Contains(keys, s.key) {
			continue
		}
		usage := s.usage
		if s.note != "" {
			usage += " (default " + s.note + ")"
		}
		flag := f.VarPF(&text{s.value, s.kind}, s.key, "", usage)
		if s.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// configFlags adds all that decides on the settings.
func configFlags(cmd *cobra.Command) {
	settingFlags(cmd.Flags())
	cmd.Flags().String("config", "", "file with settings, YAML (default PHALANX_CONFIG, or none)")
}

// load decides on every setting: flags before the environment before the file
// before the defaults.
func (a *app) load(flags *pflag.FlagSet) ([]choice, error) {
	path, err := flags.GetString("config")
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = a.getenv("PHALANX_CONFIG")
	}
	fromFile, fromEnv, fromFlags := koanf.New("."), koanf.New("."), koanf.New(".")
	if path != "" {
		if err := fromFile.Load(file.Provider(path), yaml.Parser()); err != nil {
			return nil, configError("the file %s cannot be read: %w", path, err)
		}
	}
	if err := fromEnv.Load(env.Provider(".", env.Opt{Prefix: envPrefix, EnvironFunc: func() []string { return a.environ },
		TransformFunc: func(k, v string) (string, any) { return variableKey(k), v }}), nil); err != nil {
		return nil, configError("%w", err)
	}
	if err := fromFlags.Load(posflag.ProviderWithFlag(flags, ".", nil, changedFlag), nil); err != nil {
		return nil, configError("%w", err)
	}
	var all []choice
	known := slices.Clone(otherVariables)
	for _, s := range allSettings() {
		known = append(known, s.key)
		c := choice{s.key, s.value, "default"}
		switch {
		case fromFlags.Exists(s.key):
			c.Value, c.From = fromFlags.String(s.key), "flag --"+s.key
		case fromEnv.Exists(s.key):
			c.Value, c.From = fromEnv.String(s.key), "environment "+variable(s.key)
		case fromFile.Exists(s.key):
			c.Value, c.From = fileValue(fromFile, s.key), "file "+path
		}
		all = append(all, c)
	}
	for _, key := range fromFile.Keys() {
		if !slices.Contains(known, key) || slices.Contains(otherVariables, key) {
			return nil, configError("there is no setting %q, which the file %s has; `phalanx config show` lists all", key, path)
		}
	}
	for _, key := range fromEnv.Keys() {
		if !slices.Contains(known, key) { // may belong to another program: a service called phalanx has such in Kubernetes
			fmt.Fprintf(a.stderr, "phalanx: warning: %s is no setting and is not used\n", variable(key))
		}
	}
	return all, nil
}

func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

func variableKey(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "_", "-")
}

// changedFlag leaves out flags that were not given.
func changedFlag(f *pflag.Flag) (string, any) {
	if !f.Changed {
		return "", nil
	}
	return f.Name, f.Value.String()
}

// fileValue returns a value of the file as text; a list is joined by commas.
func fileValue(k *koanf.Koanf, key string) string {
	if _, ok := k.Get(key).([]any); ok {
		return strings.Join(k.Strings(key), ",")
	}
	return k.String(key)
}

func configError(format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Op: "config", Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}

// parse turns the choices into settings that can be used, or says which cannot.
func parse(all []choice) (*settings, error) {
	s := &settings{}
	for _, def := range allSettings() {
		c := find(all, def.key)
		if err := def.set(s, c.Value); err != nil {
			return nil, configError("%s (%s): %w", c.Key, c.From, err)
		}
	}
	var err error
	if s.cluster.ServerTLS, err = s.files.server(); err != nil {
		return nil, err
	}
	if s.cluster.ServerTLS != nil {
		if s.cluster.ClientTLS, err = s.files.client(); err != nil {
			return nil, err
		}
	}
	if err := checkAddresses(s); err != nil {
		return nil, err
	}
	if err := s.cluster.Validate(); err != nil {
		return nil, nameSetting(all, err)
	}
	return s, nil
}

func find(all []choice, key string) choice {
	for _, c := range all {
		if c.Key == key {
			return c
		}
	}
	return choice{Key: key}
}

// nameSetting turns an error that names a field of cluster.Config into an error that
// names the setting and the source of its value.
func nameSetting(all []choice, err error) error {
	var e *phalanx.Error
	if !errors.As(err, &e) || e.Err == nil {
		return err
	}
	field, rest, _ := strings.Cut(e.Err.Error(), ": ")
	for _, s := range allSettings() {
		if s.field != "" && s.field == field {
			return configError("%s (%s): %s", s.key, find(all, s.key).From, rest)
		}
	}
	return err
}

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Settings of a node", GroupID: nodes, Args: cobra.NoArgs, Example: "  phalanx config show",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	show := &cobra.Command{
		Use:   "show",
		Short: "Show every setting and the source of its value",
		Long: `Show prints every setting of a node with its value and the source of that: a flag,
the environment (PHALANX_…), the file (--config) or the default. The first source
that has a value counts. It takes the flags of phalanx node.`,
		Example: "  phalanx config show --config phalanx.yaml\n  PHALANX_MEMORY=4GB phalanx config show --shards 128",
		Args:    cobra.NoArgs,
	}
	configFlags(show)
	show.RunE = action(func(context.Context, []string) error {
		all, err := a.load(show.Flags())
		if err != nil {
			return err
		}
		if _, err := parse(all); err != nil {
			return err
		}
		return a.print(map[string][]choice{"settings": all}, func(w io.Writer) {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "SETTING\tVALUE\tFROM")
			for i, s := range allSettings() {
				value := all[i].Value
				if value == "" {
					value = "(" + s.note + ")"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\n", s.key, value, all[i].From)
			}
			_ = t.Flush() // to memory
		})
	})
	cmd.AddCommand(show)
	return cmd
}
