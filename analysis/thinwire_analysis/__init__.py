"""Tables, figures and reports from thinwire's result records (schema thinwire.result/1)."""
