// Command pause holds the namespaces of a pod: it does nothing until it is
// told to stop. As the first process of a pod it also reaps orphans, by
// letting the kernel do it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// An ignored SIGCHLD makes the kernel reap children that nobody waits for.
	signal.Ignore(syscall.SIGCHLD)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}
