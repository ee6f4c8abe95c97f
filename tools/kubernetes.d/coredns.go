// coredns.go - CoreDNS with the plugins that a cluster needs; all of them would bring three clouds' libraries.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/template"
)

func init() {
	// in the order in which a question goes through them
	dnsserver.Directives = []string{"bind", "log", "errors", "cache", "kubernetes", "template"}
}

func main() {
	coremain.Run()
}
