// Promql reads queries of PromQL from its standard input, one a line, and writes the names of the metrics of each, one a line. It ends with
// an error at the first that is none.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	queries := bufio.NewScanner(os.Stdin)
	for queries.Scan() {
		query, err := parser.NewParser(parser.Options{}).ParseExpr(queries.Text())
		if err != nil {
			return fmt.Errorf("%s: %w", queries.Text(), err)
		}
		parser.Inspect(query, func(node parser.Node, _ []parser.Node) error {
			if selector, is := node.(*parser.VectorSelector); is {
				fmt.Println(selector.Name)
			}
			return nil
		})
	}
	return queries.Err()
}
