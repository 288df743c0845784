// Package reference writes what packages of the program come with, from the commands themselves: the manual page and an example of the file
// of options.
package reference

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/configfile"
	"pinion/api/cli/exit"
)

// Command is the command `pinion reference`, which builds of packages use.
func Command() *cli.Command {
	return &cli.Command{
		Name: "reference", Hidden: true,
		Usage:     "Print the manual page, or an example of /etc/pinion/config.yaml",
		ArgsUsage: "man|config",
		Action: func(c *cli.Context) error {
			switch c.Args().First() {
			case "man":
				date, err := date()
				if err != nil {
					return err
				}
				_, err = io.WriteString(c.App.Writer, Man(c.App, date))
				return err
			case "config":
				_, err := io.WriteString(c.App.Writer, configfile.Example(c.App.Command("up").Flags))
				return err
			}
			return exit.Usagef("there is a reference of man and of config, not of %q", c.Args().First())
		},
	}
}

// date is today, or that of SOURCE_DATE_EPOCH, so that one commit has one page.
func date() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
