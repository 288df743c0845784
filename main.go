// Pinion runs GPU containers on your own machines the way Amazon ECS runs them on AWS: one binary on every host.
package main

import (
	"context"
	"os"

	"pinion/api/cli"
)

// Set by the linker.
var (
	version     = "dev"
	releaseKeys = "" // minisign public keys with blanks between, whose signatures of releases count; empty in a build of one's own
)

func main() { os.Exit(cli.Main(context.Background(), program(), os.Args)) }
