package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/packaging/signature"
)

// releaseKeyFlags are the flags of `pinion up` that are parsed into UpConfig.ReleaseKeys.
func releaseKeyFlags(keys *cli.StringSlice) []cli.Flag {
	return []cli.Flag{&cli.StringSliceFlag{
		Name: "release-key", Destination: keys,
		Usage: "trust releases signed with this minisign public `KEY`, the line of minisign.pub that begins with RW, beside the keys in the binary; may be repeated",
	}}
}

// completeReleaseKeys reads the keys.
func (u *UpConfig) completeReleaseKeys(lines []string) (err error) {
	if u.ReleaseKeys, err = signature.ParseKeys(lines); err != nil {
		return exit.Usagef("--release-key: %w", err)
	}
	return nil
}
