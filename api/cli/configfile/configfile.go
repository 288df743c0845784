// Package configfile is the file with options of `pinion up`: YAML, whose members are the flags of the command.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"pinion/api/cli/arguments"
	"pinion/api/cli/exit"
	"pinion/api/cli/suggest"
)

// Default is the file that is read when none is named. It may not exist.
const Default = "/etc/pinion/config.yaml"

// maxBytes bounds the file.
const maxBytes = 64 << 10

// Flag is the option that names the file.
func Flag() cli.Flag {
	return &cli.StringFlag{Name: "config", Value: Default, EnvVars: []string{"PINION_CONFIG"}, Usage: "`FILE` with these options in YAML; the command line and the environment take precedence"}
}

// elsewhere are flags that a file cannot have, with what to do instead.
var elsewhere = map[string]string{
	"config":        "a file names no other",
	"data-dir":      "every command needs it: name it with --data-dir, or with PINION_DATA_DIR in /etc/default/pinion",
	"output":        "it is for the command line",
	"utc":           "it is for the command line",
	"help":          "it is for the command line",
	"token":         "it is a secret: use token-file",
	"servers":       "it is a setting of the pool: `pinion pool set servers=N` changes it while the pool runs",
	"replace-after": "it is a setting of the pool: `pinion pool set replace-after=TIME` changes it while the pool runs",
	"lost-after":    "it is a setting of the pool: `pinion pool set lost-after=TIME` changes it while the pool runs",
	"host":          "the command is about this machine",
	"context":       "the command is about this machine",
	"key-id":        "the command is about this machine",
	"key-secret":    "the command is about this machine",
	"secret":        "the command is about this machine",
	"ca":            "the command is about this machine",
	"region":        "the command is about this machine",
}

// Apply sets the flags of a command that neither its line nor the environment has set as the file says, and returns the path of the file;
// it is empty when there is none, which is an error if the user has named it. Nothing is set unless every member is right in form.
func Apply(c *cli.Context) (path string, err error) {
	path = c.String("config")
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && !c.IsSet("config") || path == "" {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("--config %s: %w", path, err)
	}
	members, err := parse(text, c.Command.Flags)
	if err != nil {
		return "", exit.Usagef("%s:%w", path, err)
	}
	for _, m := range members {
		if c.IsSet(m.name) {
			continue
		}
		for _, value := range m.values {
			if err := c.Set(m.name, value); err != nil {
				return "", exit.Usagef("%s:%d: %s: %w", path, m.line, m.name, err)
			}
		}
	}
	return path, nil
}

// Read returns the text of a file for other machines, once each member is one of the flags, right in form.
func Read(path string, flags []cli.Flag) (text []byte, err error) {
	if text, err = read(path); err != nil {
		return nil, exit.Usagef("--config %s: %w", path, err)
	}
	if _, err := parse(text, flags); err != nil {
		return nil, exit.Usagef("%s:%w", path, err)
	}
	return text, nil
}

// read reads a file that only root, or who runs this, may change, for it decides what tasks may do here.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case belongsToOthers(info):
		return nil, errors.New("it belongs to another user, and it decides what tasks may do on this host: `chown root` it once you know what is in it")
	case info.Mode().Perm()&0o022 != 0:
		return nil, errors.New("others may change it, and it decides what tasks may do on this host: `chmod go-w` it")
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return io.ReadAll(io.LimitReader(file, maxBytes))
}

// member is one member of the file: a flag with its values, several where the flag may be repeated.
type member struct {
	name   string
	values []string
	line   int
}

// lineError is an error at a line of the file; its text begins with the number.
func lineError(line int, text string, args ...any) error {
	return fmt.Errorf("%d: %w", line, fmt.Errorf(text, args...))
}

// parse reads the members of a file, each of which has to be one of the flags.
func parse(text []byte, flags []cli.Flag) ([]member, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, lineError(1, "%w", err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, lineError(more.Line, "one document is needed, not several")
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, lineError(root.Line, "options are needed, such as `gpus: auto`, one a line")
	}
	var members []member
	for i := 0; i < len(root.Content); i += 2 {
		m, err := parseMember(root.Content[i], root.Content[i+1], flags)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(members, func(other member) bool { return other.name == m.name }) {
			return nil, lineError(m.line, "%s is there twice: an option with several values has a list", m.name)
		}
		members = append(members, m)
	}
	return members, nil
}

func parseMember(key, value *yaml.Node, flags []cli.Flag) (member, error) {
	m := member{name: key.Value, line: key.Line}
	i := slices.IndexFunc(flags, func(flag cli.Flag) bool { return flag.Names()[0] == m.name })
	if instead := elsewhere[m.name]; instead != "" {
		return m, lineError(m.line, "%s cannot be here: %s", m.name, instead)
	}
	if i < 0 {
		return m, lineError(m.line, "there is no option %q%s; see pinion up --help", m.name, nearest(m.name, flags))
	}
	_, repeats := flags[i].(*cli.StringSliceFlag)
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode && repeats {
		values = value.Content
	}
	for _, v := range values {
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			takes := "one value"
			if repeats {
				takes = "one value or a list of values"
			}
			return m, lineError(v.Line, "%s takes %s", m.name, takes)
		}
		if err := arguments.CheckValue(flags[i], m.name, v.Value); err != nil {
			return m, lineError(v.Line, "%w", err)
		}
		m.values = append(m.values, v.Value)
	}
	return m, nil
}

// nearest names the option that was probably meant.
func nearest(name string, flags []cli.Flag) string {
	var names []string
	for _, flag := range flags {
		if elsewhere[flag.Names()[0]] == "" {
			names = append(names, flag.Names()[0])
		}
	}
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// Refused says why a file cannot have an option, and what to do instead; empty when it can.
func Refused(name string) string { return elsewhere[name] }
