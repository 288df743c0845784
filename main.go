// Pinion runs GPU containers on your own machines the way Amazon ECS runs them on AWS: one binary on every host.
package main

import (
	"context"
	"os"

	"pinion/api/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(cli.Main(context.Background(), program(), os.Args)) }
