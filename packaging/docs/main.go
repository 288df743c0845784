// Command docs makes a static site of the documentation: of docs/README.md, README.md and every page that can be reached from them. It is a module
// of its own, so that pinion has no Markdown library in it. Run it in its directory, or name the repository.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	from := flag.String("from", "../..", "`directory` of the repository")
	to := flag.String("to", "../../bin/docs", "`directory` to write the site into; what an earlier run wrote there is replaced")
	flag.Parse()
	pages, err := build(*from, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s/index.html\n", pages, *to)
}
