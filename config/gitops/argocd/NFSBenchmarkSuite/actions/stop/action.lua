obj.spec.shutdown = "Stop"
return obj
