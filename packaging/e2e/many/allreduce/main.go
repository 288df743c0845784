// Command allreduce is one task of a gang: it adds a number to those of all others. Rank 0 listens on MASTER_PORT, every rank,
// rank 0 itself included as in PyTorch, connects to MASTER_ADDR, sends its rank plus 1, and is told the sum, which it writes
// to the file sum-RANK in the folder that is its argument. With a second argument it then stays.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	rank, size := envInt("RANK"), envInt("WORLD_SIZE")
	led := make(chan error, 1)
	if rank == 0 {
		go func() { led <- serveSum(size) }()
	} else {
		led <- nil
	}
	sum, err := requestSum(rank)
	if err == nil {
		err = <-led
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], fmt.Sprintf("sum-%d", rank)), []byte(strconv.Itoa(sum)), 0o644)
	}
	if err != nil {
		log.Fatalf("rank %d of %d: %v", rank, size, err)
	}
	if len(os.Args) > 2 {
		time.Sleep(time.Hour)
	}
}

func envInt(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Fatalf("the environment has no number %s: %v", name, err)
	}
	return n
}

// serveSum hears all ranks, adds up their numbers, and tells each the sum.
func serveSum(size int) error {
	listener, err := net.Listen("tcp", ":"+os.Getenv("MASTER_PORT"))
	if err != nil {
		return err
	}
	sum := 0
	var ranks []net.Conn
	for len(ranks) < size {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		n := 0
		if _, err := fmt.Fscanln(conn, &n); err != nil {
			continue // not one of the gang
		}
		sum += n
		ranks = append(ranks, conn)
	}
	for _, conn := range ranks {
		if _, err := fmt.Fprintln(conn, sum); err != nil {
			return err
		}
	}
	return nil
}

// requestSum sends a number to rank 0, which may not listen yet, and hears the sum.
func requestSum(rank int) (sum int, err error) {
	address := net.JoinHostPort(os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT"))
	for range 300 {
		if sum, err = exchange(address, rank+1); err == nil {
			return sum, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0, err
}

func exchange(address string, n int) (sum int, err error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return 0, err
	}
	if _, err = fmt.Fprintln(conn, n); err == nil {
		_, err = fmt.Fscanln(conn, &sum)
	}
	return sum, err
}
