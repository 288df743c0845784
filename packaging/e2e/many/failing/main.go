// Command failing is a release that works nowhere: it says its version as pinion does, and ends when it is to do anything else.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("pinion version failing")
		return
	}
	os.Exit(1)
}
