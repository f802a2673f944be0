"""Everything that a folder of records holds, as one HTML page without outside references."""
